//! Collection of all references in an expression (reference: `_GetExternalReferences` and
//! `_GetInternalReferences`, attrrefs.cpp).

use std::sync::Arc;

use crate::ad::StoredValue;
use crate::ad::unparse::{self, UnparseForm};
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{ComputedValue, EvalFailure};
use crate::eval::evaluator::{EvalScopes, Evaluator};
use crate::eval::scope::{AdRef, AdScope};
use crate::syntax::mentioned_names::AttrNames;
use crate::syntax::tree::{ABSOLUTE_BASE, ExprTree, NO_BASE, Node, NodeId};

/// Spelling of a reference whose base is undefined.
///
/// ```
/// use htc_classad::{Context, Expr, System, references::{self, ReferenceSpelling}};
/// let names = |spelling| {
///     let expr = Expr::parse("TARGET.Cpus > 1").unwrap();
///     references::external(&expr, Context::new(&System), spelling).unwrap().first().unwrap().to_string()
/// };
/// assert_eq!(names(ReferenceSpelling::Full), "TARGET.Cpus");
/// assert_eq!(names(ReferenceSpelling::Base), "TARGET");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSpelling {
    /// Only the name of the base, such as `TARGET` for `TARGET.Memory`.
    Base,
    /// Whole reference, such as `TARGET.Memory`.
    Full,
}

/// Returns the external references, spelled in full, of the expression to which a name is bound. Used during an
/// evaluation, by `unresolved()`.
pub(crate) fn external_references_of<'a>(
    evaluator: &mut Evaluator<'a>,
    bound: Binding<'a>,
    scope: &'a AdScope<'a>,
) -> Result<AttrNames, EvalFailure> {
    let mut walk = ReferenceWalk::new(false, ReferenceSpelling::Full);
    evaluator.with_stack_check(|evaluator| walk.walk_binding(evaluator, bound, scope))?;
    Ok(walk.names)
}

/// State of the walk over an expression, with the names found so far.
pub(crate) struct ReferenceWalk {
    is_internal: bool,
    spelling: ReferenceSpelling,
    /// True while the base of a selection is walked: an ad written there is then not searched for references.
    in_base: bool,
    pub(crate) names: AttrNames,
}

type WalkResult = Result<(), EvalFailure>;

impl ReferenceWalk {
    pub(crate) fn new(internal: bool, spelling: ReferenceSpelling) -> Self {
        ReferenceWalk { is_internal: internal, spelling, in_base: false, names: AttrNames::new() }
    }

    pub(crate) fn walk_node<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> WalkResult {
        evaluator.count_step()?;
        match tree.node(id) {
            Node::Name { .. } => {
                evaluator.with_stack_check(|evaluator| self.walk_reference(evaluator, tree, NO_BASE, id, at))
            }
            Node::Attr { base, name } => {
                evaluator.with_stack_check(|evaluator| self.walk_reference(evaluator, tree, base, name, at))
            }
            Node::Ad { .. } if self.is_internal && self.in_base => Ok(()),
            node => {
                let deeper = match node {
                    Node::Ad { .. } | Node::List { .. } => true,
                    Node::Call { .. } => !self.is_internal,
                    _ => false,
                };
                let mut at = at;
                if let Node::Ad { first, count } = node {
                    let ad = AdRef::Literal { tree, first, count };
                    at.written_in =
                        evaluator.arena.add_scope(AdScope { ad, parent: at.written_in, detached: false });
                }
                let mut children = Vec::new();
                tree.children(id, &mut children);
                if deeper {
                    return self.walk_one_level_deeper(evaluator, tree, children, at);
                }
                for child in children {
                    evaluator.with_stack_check(|evaluator| self.walk_node(evaluator, tree, child, at))?;
                }
                Ok(())
            }
        }
    }

    /// Walks several parts of an expression, each one level deeper than the current level of the reference's
    /// depth limit.
    fn walk_one_level_deeper<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<ExprTree>,
        parts: impl IntoIterator<Item = NodeId>,
        at: EvalScopes<'a>,
    ) -> WalkResult {
        for part in parts {
            evaluator.with_deeper_level(|evaluator| {
                evaluator.with_stack_check(|evaluator| self.walk_node(evaluator, tree, part, at))
            })?;
        }
        Ok(())
    }

    fn walk_reference<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<ExprTree>,
        base: NodeId,
        name: NodeId,
        at: EvalScopes<'a>,
    ) -> WalkResult {
        let wanted = NameLookup::from_tree(tree, name);
        let start = match base {
            NO_BASE => evaluator.current_scope(at),
            ABSOLUTE_BASE => Some(evaluator.root_scope().ok_or(EvalFailure)?),
            base => {
                if self.is_internal {
                    let outer = std::mem::replace(&mut self.in_base, true);
                    let walked = self.walk_node(evaluator, tree, base, at);
                    self.in_base = outer;
                    walked?;
                }
                match evaluator.eval(tree, base, at)? {
                    ComputedValue::Ad(scope) => Some(scope),
                    ComputedValue::Undefined if self.is_internal => return Ok(()),
                    ComputedValue::Undefined => {
                        return self.add_undefined_selection(evaluator, tree, base, name, at);
                    }
                    _ => return Err(EvalFailure),
                }
            }
        };
        let found = match start {
            Some(start) => evaluator.look_up(start, wanted)?,
            None => None,
        };
        let Some((bound, scope)) = found else {
            if !self.is_internal {
                self.names.insert(wanted.bytes.into());
            } else if let Some(start) = start {
                // After a failed search, the reference does not return to the ad where the search began
                // (_GetInternalReferences).
                let end = evaluator.last_searched_scope(start);
                evaluator.redirect_lookups(end);
            }
            return Ok(());
        };
        if self.is_internal
            && evaluator.root_scope().is_some_and(|root| std::ptr::eq(root, scope))
            && scope.ad.find(wanted).is_some()
        {
            self.names.insert(wanted.bytes.into());
        }
        evaluator.without_redirect(|evaluator| {
            evaluator.with_deeper_level(|evaluator| self.walk_binding(evaluator, bound, scope))
        })
    }

    /// Adds the name for a selection from an undefined base: the name of the base or the whole reference,
    /// depending on the spelling.
    fn add_undefined_selection<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<ExprTree>,
        base: NodeId,
        name: NodeId,
        at: EvalScopes<'a>,
    ) -> WalkResult {
        if self.spelling == ReferenceSpelling::Base {
            return evaluator.with_deeper_level(|evaluator| self.walk_node(evaluator, tree, base, at));
        }
        let mut full = Vec::new();
        unparse::push_node(tree, base, UnparseForm::New, &mut full);
        full.push(b'.');
        full.extend_from_slice(tree.name_bytes(name));
        self.names.insert(full.into());
        Ok(())
    }

    fn walk_binding<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        bound: Binding<'a>,
        scope: &'a AdScope<'a>,
    ) -> WalkResult {
        let at = EvalScopes::from_scope(Some(scope));
        match bound {
            Binding::Attribute { slot: StoredValue::Expr(root, tree), .. } => {
                self.walk_node(evaluator, tree, *root, at)
            }
            Binding::NestedAttribute { tree, id, .. } => self.walk_node(evaluator, tree, id, at),
            Binding::Ad(_) if self.is_internal && self.in_base => Ok(()),
            Binding::Ad(AdScope { ad: AdRef::Own(ad), .. }) => {
                for (_, slot) in ad.stored_values() {
                    if let StoredValue::Expr(root, tree) = slot {
                        self.walk_one_level_deeper(evaluator, tree, [*root], at)?;
                    }
                }
                Ok(())
            }
            Binding::Ad(AdScope { ad: AdRef::Literal { tree, first, count }, .. }) => {
                let values = tree.fields(*first, *count).iter().map(|field| field.node);
                self.walk_one_level_deeper(evaluator, tree, values, at)
            }
            _ => Ok(()),
        }
    }
}
