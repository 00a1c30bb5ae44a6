//! The walk from an expression to all that it leads to (reference: `_GetExternalReferences` and `_GetInternalReferences`, attrrefs.cpp).

use std::sync::Arc;

use crate::ad::Slot;
use crate::ad::unparse::{self, Form};
use crate::eval::binding::{Bound, Wanted};
use crate::eval::computed::{Computed, Failure};
use crate::eval::evaluator::{At, Evaluator};
use crate::eval::scope::{AdRef, Scope};
use crate::syntax::mentions::Names;
use crate::syntax::tree::{ABSOLUTE, NO_BASE, Node, NodeId, Tree};

/// How names behind a base that is undefined are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// The names that the base refers to: `TARGET` for `TARGET.Memory`.
    Base,
    /// The whole reference: `TARGET.Memory`.
    Full,
}

/// The external references of what a name is bound to, in full, within an evaluation under way (`unresolved()`).
pub(crate) fn external_of<'a>(
    evaluator: &mut Evaluator<'a>,
    bound: Bound<'a>,
    scope: &'a Scope<'a>,
) -> Result<Names, Failure> {
    let mut walk = Walk::new(false, Spelling::Full);
    evaluator.nested(|evaluator| walk.bound(evaluator, bound, scope))?;
    Ok(walk.names)
}

/// A walk, and the names that it has met.
pub(crate) struct Walk {
    internal: bool,
    spelling: Spelling,
    /// Within the base of a selection, where the attributes of an ad do not count by themselves.
    as_scope: bool,
    pub(crate) names: Names,
}

type Walked = Result<(), Failure>;

impl Walk {
    pub(crate) fn new(internal: bool, spelling: Spelling) -> Self {
        Walk { internal, spelling, as_scope: false, names: Names::new() }
    }

    pub(crate) fn node<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<Tree>,
        id: NodeId,
        at: At<'a>,
    ) -> Walked {
        evaluator.step()?;
        match tree.node(id) {
            Node::Name { .. } => {
                evaluator.nested(|evaluator| self.reference(evaluator, tree, NO_BASE, id, at))
            }
            Node::Attr { base, name } => {
                evaluator.nested(|evaluator| self.reference(evaluator, tree, base, name, at))
            }
            Node::Ad { .. } if self.internal && self.as_scope => Ok(()),
            node => {
                let deeper = match node {
                    Node::Ad { .. } | Node::List { .. } => true,
                    Node::Call { .. } => !self.internal,
                    _ => false,
                };
                let mut at = at;
                if let Node::Ad { first, count } = node {
                    let ad = AdRef::Literal { tree, first, count };
                    at.written = evaluator.arena.scope(Scope { ad, parent: at.written, detached: false });
                }
                let mut children = Vec::new();
                tree.children(id, &mut children);
                if deeper {
                    return self.below(evaluator, tree, children, at);
                }
                for child in children {
                    evaluator.nested(|evaluator| self.node(evaluator, tree, child, at))?;
                }
                Ok(())
            }
        }
    }

    /// Parts that are each one level of the reference's depth further down.
    fn below<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<Tree>,
        parts: impl IntoIterator<Item = NodeId>,
        at: At<'a>,
    ) -> Walked {
        for part in parts {
            evaluator
                .deeper(|evaluator| evaluator.nested(|evaluator| self.node(evaluator, tree, part, at)))?;
        }
        Ok(())
    }

    fn reference<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<Tree>,
        base: NodeId,
        name: NodeId,
        at: At<'a>,
    ) -> Walked {
        let wanted = Wanted::of(tree, name);
        let start = match base {
            NO_BASE => evaluator.current(at),
            ABSOLUTE => Some(evaluator.root().ok_or(Failure)?),
            base => {
                if self.internal {
                    let outer = std::mem::replace(&mut self.as_scope, true);
                    let walked = self.node(evaluator, tree, base, at);
                    self.as_scope = outer;
                    walked?;
                }
                match evaluator.eval(tree, base, at)? {
                    Computed::Ad(scope) => Some(scope),
                    Computed::Undefined if self.internal => return Ok(()),
                    Computed::Undefined => return self.beyond(evaluator, tree, base, name, at),
                    _ => return Err(Failure),
                }
            }
        };
        let found = match start {
            Some(start) => evaluator.look_up(start, wanted)?,
            None => None,
        };
        let Some((bound, scope)) = found else {
            if !self.internal {
                self.names.insert(wanted.bytes.into());
            } else if let Some(start) = start {
                // The reference does not come back from where it has looked in vain (_GetInternalReferences).
                let end = evaluator.last_searched(start);
                evaluator.stray(end);
            }
            return Ok(());
        };
        if self.internal
            && evaluator.root().is_some_and(|root| std::ptr::eq(root, scope))
            && scope.ad.find(wanted).is_some()
        {
            self.names.insert(wanted.bytes.into());
        }
        evaluator.elsewhere(|evaluator| evaluator.deeper(|evaluator| self.bound(evaluator, bound, scope)))
    }

    /// A selection from something undefined: the name that matters is its base, or the whole of it.
    fn beyond<'a>(
        &mut self,
        evaluator: &mut Evaluator<'a>,
        tree: &'a Arc<Tree>,
        base: NodeId,
        name: NodeId,
        at: At<'a>,
    ) -> Walked {
        if self.spelling == Spelling::Base {
            return evaluator.deeper(|evaluator| self.node(evaluator, tree, base, at));
        }
        let mut full = Vec::new();
        unparse::node(tree, base, Form::New, &mut full);
        full.push(b'.');
        full.extend_from_slice(tree.name_bytes(name));
        self.names.insert(full.into());
        Ok(())
    }

    fn bound<'a>(&mut self, evaluator: &mut Evaluator<'a>, bound: Bound<'a>, scope: &'a Scope<'a>) -> Walked {
        let at = At::scope(Some(scope));
        match bound {
            Bound::Slot { slot: Slot::Expr(root, tree), .. } => self.node(evaluator, tree, *root, at),
            Bound::Node { tree, id, .. } => self.node(evaluator, tree, id, at),
            Bound::Ad(_) if self.internal && self.as_scope => Ok(()),
            Bound::Ad(Scope { ad: AdRef::Own(ad), .. }) => {
                for (_, slot) in ad.slots() {
                    if let Slot::Expr(root, tree) = slot {
                        self.below(evaluator, tree, [*root], at)?;
                    }
                }
                Ok(())
            }
            Bound::Ad(Scope { ad: AdRef::Literal { tree, first, count }, .. }) => {
                let values = tree.fields(*first, *count).iter().map(|field| field.node);
                self.below(evaluator, tree, values, at)
            }
            _ => Ok(()),
        }
    }
}
