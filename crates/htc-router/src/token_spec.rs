//! IDTOKENs that a router creates for its routed jobs, according to its configuration.

use bstr::BString;

use htc_base::text::list;
use htc_classad::format::long;
use htc_classad::{Context, Dialect};
use htc_config::ConfigView;

/// Token described by `JOB_ROUTER_CREATE_IDTOKEN_<name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSpec {
    /// Name of the token in JOB_ROUTER_CREATE_IDTOKEN_NAMES.
    pub name: BString,
    /// `sub`: the identity of the token's bearer (default: the name).
    pub subject: BString,
    /// `kid`: the signing key; empty for the pool's key.
    pub signing_key: BString,
    /// `scope`: the authorizations of the token.
    pub scopes: Vec<BString>,
    /// `lifetime` in seconds; negative for no limit.
    pub lifetime: i64,
    /// `dir` and `filename`: the path of the token's file.
    pub file: BString,
    /// `Owner`: the owner of the file; empty for the router's own account.
    pub owner: BString,
}

/// Reads the tokens of a configuration. Skips a listed name without a definition silently, and an invalid definition
/// with a message.
pub fn read_token_specs(view: &ConfigView<'_>, note: &mut dyn FnMut(String)) -> Vec<TokenSpec> {
    let names = view.text("JOB_ROUTER_CREATE_IDTOKEN_NAMES").unwrap_or_default();
    let mut orders: Vec<TokenSpec> = Vec::new();
    for name in list::split(&names).map(BString::from) {
        if name.eq_ignore_ascii_case(b"NAMES") || orders.iter().any(|known| known.name == name) {
            continue;
        }
        let Some(definition) = view.text(&format!("JOB_ROUTER_CREATE_IDTOKEN_{name}")) else { continue };
        let (ad, errors) = long::parse_with(&definition, Dialect::of_world(view.world()));
        if ad.is_empty() || !errors.is_empty() {
            note(format!("Ignoring invalid {name} IDTOKEN config : {definition}"));
            continue;
        }
        let context = Context::new(view.world()).my(&ad);
        let string = |attribute: &str| context.string(attribute).filter(|text| !text.is_empty());
        let directory = string("dir").or_else(|| view.text("SEC_TOKEN_DIRECTORY")).unwrap_or_default();
        let file = string("filename").unwrap_or_else(|| name.clone());
        let slash: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
        orders.push(TokenSpec {
            subject: string("sub").unwrap_or_else(|| name.clone()),
            signing_key: string("kid").unwrap_or_default(),
            scopes: list::split(&string("scope").unwrap_or_default()).map(BString::from).collect(),
            lifetime: context.int("lifetime").unwrap_or(-1),
            file: [directory.as_slice(), slash, &file].concat().into(),
            owner: string("Owner").unwrap_or_default(),
            name,
        });
    }
    orders
}
