//! Lookup of names: in the current ad, its enclosing ads, and the other side of a match (attrrefs.cpp).

use super::{Evaluator, LEFT_CONTEXT, RIGHT_CONTEXT, is_same_scope};
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{EvalFailure, EvalResult};
use crate::eval::evaluator::EvalScopes;
use crate::eval::observer::NameLocation;
use crate::eval::scope::{AdRef, AdScope, MATCH_EXPRESSIONS, MatchSide};
use crate::syntax::tree::SpecialName;

impl<'a> Evaluator<'a> {
    /// Finds a name in one ad, which may be the match ad, without searching enclosing ads.
    #[inline]
    pub(crate) fn find_in_scope(
        &self,
        scope: &'a AdScope<'a>,
        wanted: NameLookup<'_>,
    ) -> Option<Binding<'a>> {
        match scope.ad {
            AdRef::Match => self.find_in_match(wanted),
            ad => ad.find(wanted),
        }
    }

    fn find_in_match(&self, wanted: NameLookup<'_>) -> Option<Binding<'a>> {
        let is = |name: &str| name.as_bytes().eq_ignore_ascii_case(wanted.bytes);
        if is("LEFT") {
            return self.left.map(Binding::Ad);
        }
        if is("RIGHT") {
            return self.right.map(Binding::Ad);
        }
        if is("lCtx") {
            return Some(Binding::Ad(&LEFT_CONTEXT));
        }
        if is("rCtx") {
            return Some(Binding::Ad(&RIGHT_CONTEXT));
        }
        MATCH_EXPRESSIONS.iter().position(|(name, _)| is(name)).map(Binding::MatchExpression)
    }

    /// Looks up a name in an ad and then in its enclosing ads, from the inside to the outside. Returns `Ok(None)` if
    /// none of them has the name.
    #[inline]
    pub(crate) fn look_up(
        &mut self,
        start: &'a AdScope<'a>,
        wanted: NameLookup<'_>,
    ) -> Result<Option<(Binding<'a>, &'a AdScope<'a>)>, EvalFailure> {
        let mut scope = start;
        loop {
            if let Some(bound) = self.find_in_scope(scope, wanted) {
                return Ok(Some((bound, scope)));
            }
            let outer = if is_same_scope(self.root, scope) { None } else { scope.parent };
            let special = match wanted.special {
                SpecialName::My | SpecialName::CurrentTime if self.mode.strict => SpecialName::None,
                special => special,
            };
            match special {
                SpecialName::None | SpecialName::Target => match outer {
                    Some(outer) => scope = outer,
                    None => return Ok(None),
                },
                SpecialName::SelfAd | SpecialName::My => return Ok(Some((Binding::Ad(scope), scope))),
                SpecialName::Parent => return Ok(outer.map(|outer| (Binding::Ad(outer), scope))),
                SpecialName::Root => {
                    return self.root.map(|root| Some((Binding::Ad(root), scope))).ok_or(EvalFailure);
                }
                SpecialName::CurrentTime => return Ok(Some((Binding::CurrentTime, scope))),
            }
        }
    }

    /// Returns the ad that is searched for names that `scope` lacks: the other side of a match. Returns `None` in
    /// strict mode, or if `scope` is not a side of a match.
    #[inline]
    fn opposite_side(&self, scope: &AdScope<'a>) -> Option<&'a AdScope<'a>> {
        if self.mode.strict {
            None
        } else if let Some((each, other)) = self.each_context
            && is_same_scope(Some(each), scope)
        {
            other
        } else if is_same_scope(self.left, scope) {
            self.right
        } else if is_same_scope(self.right, scope) {
            self.left
        } else {
            None
        }
    }

    /// Looks up a plain name in the current ad and then in the other side of a match.
    #[inline]
    pub(crate) fn resolve_name(
        &mut self,
        wanted: NameLookup<'_>,
        at: EvalScopes<'a>,
    ) -> Result<Option<(Binding<'a>, &'a AdScope<'a>)>, EvalFailure> {
        let Some(current) = self.current_scope(at) else { return Ok(None) };
        match self.look_up(current, wanted)? {
            None => match self.opposite_side(current) {
                Some(other) => self.look_up(other, wanted),
                None => Ok(None),
            },
            found => Ok(found),
        }
    }

    #[inline]
    pub(super) fn name_location(&self, scope: Option<&'a AdScope<'a>>) -> NameLocation {
        match scope {
            None => NameLocation::Nowhere,
            Some(scope) if is_same_scope(self.left, scope) => NameLocation::My,
            Some(scope) if is_same_scope(self.right, scope) => NameLocation::Target,
            Some(scope) => match scope.ad {
                AdRef::Match | AdRef::Context(_) => NameLocation::Match,
                _ if self.left.is_none() && scope.parent.is_none() => NameLocation::My,
                _ => NameLocation::Nested,
            },
        }
    }

    /// Returns the ad that `TARGET` refers to if `current` is a side of a match: the other side. Returns `None` if
    /// `current` has an attribute called `target`.
    #[inline]
    pub(super) fn implicit_target(&mut self, current: &'a AdScope<'a>) -> Option<&'a AdScope<'a>> {
        let side = if is_same_scope(self.left, current) {
            MatchSide::Left
        } else if is_same_scope(self.right, current) {
            MatchSide::Right
        } else {
            return None;
        };
        let known = &mut self.implicit_targets[side as usize];
        let plain = match *known {
            Some(plain) => plain,
            None => {
                let plain = current.ad.find(NameLookup::new(b"target")).is_none();
                *known = Some(plain);
                plain
            }
        };
        let other = if side == MatchSide::Left { self.right } else { self.left };
        if plain { other } else { None }
    }

    /// Returns the last ad that is searched if a name is not found.
    pub(crate) fn last_searched_scope(&self, start: &'a AdScope<'a>) -> &'a AdScope<'a> {
        let mut scope = start;
        while !is_same_scope(self.root, scope)
            && let Some(outer) = scope.parent
        {
            scope = outer;
        }
        scope
    }

    /// Returns the ad in which plain names are looked up.
    #[inline]
    pub(crate) fn current_scope(&self, at: EvalScopes<'a>) -> Option<&'a AdScope<'a>> {
        if self.redirected_scope.is_some() { self.redirected_scope } else { at.current }
    }

    /// Redirects lookups of plain names to `scope`. Some functions of the reference change the current ad while they
    /// look up an attribute, and never restore it. Everything that is evaluated after them, up to the end of the
    /// attribute's expression, finds names in that other ad (fnCall.cpp, hasRefs; compat_classad.cpp,
    /// evalInEachContext_func).
    pub(crate) fn redirect_lookups(&mut self, scope: &'a AdScope<'a>) {
        self.redirected_scope = Some(scope);
    }

    /// Calls `run` without the redirection of lookups, which is restored afterwards.
    pub(crate) fn without_redirect<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let redirect = self.redirected_scope.take();
        let result = run(self);
        self.redirected_scope = redirect;
        result
    }

    /// Calls `run` for a nested ad as `evalInEachContext()` does: with new limits on steps and depth. In a match, names
    /// that the ad lacks are looked up in the side opposite to the side that contains the ad.
    pub(crate) fn eval_in_nested_ad(
        &mut self,
        scope: &'a AdScope<'a>,
        run: impl FnOnce(&mut Self) -> EvalResult<'a>,
    ) -> EvalResult<'a> {
        let contains_ad = |side: Option<&'a AdScope<'a>>| {
            let (Some(side), Some(parent)) = (side, scope.parent) else { return false };
            if is_same_scope(Some(side), parent) {
                return true;
            }
            // An ad nested in a chained parent is treated as contained in the ad that has this parent.
            let (AdRef::Own(ad), AdRef::Own(wanted)) = (side.ad, parent.ad) else { return false };
            std::iter::successors(Some(ad), |ad| ad.parent().map(|parent| &**parent))
                .any(|ad| std::ptr::eq(ad, wanted))
        };
        let other = match () {
            () if contains_ad(self.left) => self.right,
            () if contains_ad(self.right) => self.left,
            () => None,
        };
        let before = self.each_context.replace((scope, other));
        let result = self.with_fresh_budget(Some(scope), run);
        self.each_context = before;
        result
    }
}

#[cfg(test)]
mod tests {
    use crate::ad::{ClassAd, Value};
    use crate::eval::Context;
    use crate::eval_world::System;
    use crate::syntax::{Dialect, Expr};
    use std::sync::Arc;

    fn ad(text: &str) -> ClassAd {
        ClassAd::parse_new(text.as_bytes(), Dialect::new_syntax()).expect("a good ad")
    }

    fn eval_text(text: &str, my: &str, target: Option<&str>) -> Option<String> {
        let world = System;
        let my = ad(my);
        let target = target.map(ad);
        let mut context = Context::new(&world).my(&my);
        if let Some(target) = &target {
            context = context.target(target);
        }
        let expr = Expr::parse(text.as_bytes()).expect("a good expression");
        context.try_eval(&expr).map(|value| value.to_string())
    }

    fn assert_value(text: &str, my: &str, target: Option<&str>, value: &str) {
        assert_eq!(eval_text(text, my, target).as_deref(), Some(value), "{text} in {my} and {target:?}");
    }

    #[test]
    fn logic_has_three_values_and_error() {
        assert_value("false && error", "[]", None, "false");
        assert_value("undefined && false", "[]", None, "false");
        assert_value("undefined || true", "[]", None, "true");
        assert_value("undefined && 3", "[]", None, "undefined");
        assert_value("1 || 0", "[]", None, "true");
        assert_value("\"a\" && true", "[]", None, "error");
    }

    #[test]
    fn names_are_found_where_the_reference_finds_them() {
        let target = Some("[a=2;b=a;c=3]");
        assert_value("c", "[a=1]", target, "3");
        assert_value("b", "[a=1]", target, "2");
        assert_value("MY.c", "[a=1]", target, "undefined");
        assert_value("TARGET.b", "[a=1]", target, "2");
        assert_value("other.a", "[a=1]", target, "2");
        assert_value("LEFT.a + RIGHT.a", "[a=1]", target, "3");
        assert_value("n.b", "[a=1;n=[b=a]]", None, "1");
        assert_value("n.c.d", "[a=1;n=[c=[d=parent.a]]]", None, "1");
        assert_value("MY.a", "[my=[a=9]]", None, "9");
        assert_value("[q=c].q", "[a=1]", target, "undefined");
    }

    #[test]
    fn the_root_of_a_match_contains_both_ads() {
        let root = eval_text("root", "[a=1]", Some("[b=2]")).unwrap_or_default();
        assert!(
            root.starts_with("[ lCtx = [ ad = .LEFT;") && root.contains("; LEFT = [ a = 1 ]; rCtx = "),
            "{root}"
        );
    }

    #[test]
    fn cycles_are_undefined() {
        assert_value("x", "[x=x+1]", None, "undefined");
        assert_value("a", "[a=b;b=a]", None, "undefined");
        assert_value("a", "[a=isUndefined(a)]", None, "true");
        assert_value("a.b", "[a=[b=a.b]]", None, "undefined");
    }

    #[test]
    fn limits_are_those_of_the_reference() {
        let sum = |operators: usize| format!("1{}", "+1".repeat(operators));
        assert_value(&sum(400), "[]", None, "401");
        assert_eq!(eval_text(&sum(401), "[]", None), None);
        assert_eq!(eval_text(&sum(1_000_000), "[]", None), None);
        let doubling = |levels: usize| {
            let mut text = String::from("[a0=1");
            for level in 1..=levels {
                text += &format!(";a{level}=a{0}+a{0}", level - 1);
            }
            text + "]"
        };
        assert_value("a18", &doubling(18), None, "262144");
        assert_eq!(eval_text("a23", &doubling(23), None), None);
    }

    #[test]
    fn evaluation_ends_where_the_reference_overflows_its_stack() {
        assert_value("x", "[x = self[\"x\"]]", None, "error");
        assert_eq!(eval_text("x", "[x = self[\"x\"] + self[\"x\"]]", None), None);
    }

    #[test]
    fn projection_and_subscripts() {
        assert_value("{[a=1],[a=2],3}.a", "[]", None, "{ 1,2,error }");
        assert_value("{10,20}[4294967296]", "[]", None, "10");
        assert_value("{10,20}[2]", "[]", None, "error");
        assert_value("n[\"a\"]", "[n=[a=b;b=4]]", None, "4");
    }

    #[test]
    fn an_attribute_of_a_chained_parent_sees_the_child() {
        let mut child = ad("[b = 2]");
        child.chain(Some(Arc::new(ad("[a = b + 1; b = 10]"))));
        let world = System;
        assert_eq!(Context::new(&world).my(&child).eval_attr("a"), Value::Int(3));
    }
}
