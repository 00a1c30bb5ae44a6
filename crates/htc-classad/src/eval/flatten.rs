//! Partial evaluation: what is known of an expression worked in (reference: `_Flatten` of
//! operators.cpp, attrrefs.cpp, fnCall.cpp).

use std::sync::Arc;

use crate::ad::{ClassAd, Slot, Value, push_value};
use crate::eval::arena::Arena;
use crate::eval::binding::{Bound, Wanted};
use crate::eval::computed::{Computed, Failure};
use crate::eval::evaluator::{At, Evaluator};
use crate::eval::scope::{AdRef, Scope};
use crate::eval::truth::{Connective, Logic};
use crate::eval::{Context, operators};
use crate::syntax::expr::{Expr, Repr};
use crate::syntax::tree::{ABSOLUTE, BinaryOp, Builder, Field, NO_BASE, Node, NodeId, Tree, UnaryOp};

/// What partial evaluation comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Flat {
    /// All of it was known.
    Value(Value),
    /// What is left.
    Expr(Expr),
}

/// Works in what the context's MY knows; attributes whose expressions are not known wholly stay references. `None` where the
/// reference fails.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, flatten::{self, Flat}};
/// use htc_classad::System;
/// let mut ad = ClassAd::new();
/// ad.set("a", 2);
/// let world = System;
/// let context = Context::new(&world).my(&ad);
/// let flat = flatten::flatten(&Expr::parse(b"nosuch + a + 1").unwrap(), context);
/// assert_eq!(flat, Some(Flat::Expr(Expr::parse(b"3 + nosuch").unwrap())));
/// ```
pub fn flatten(expr: &Expr, context: Context<'_>) -> Option<Flat> {
    run(expr, context, false)
}

/// As [`flatten`], but attributes are replaced by what is left of their expressions.
pub fn inline(expr: &Expr, context: Context<'_>) -> Option<Flat> {
    run(expr, context, true)
}

fn run(expr: &Expr, context: Context<'_>, inline: bool) -> Option<Flat> {
    let (tree, root) = match &expr.0 {
        Repr::Scalar(scalar) => return Some(Flat::Value(scalar.look().into())),
        Repr::Node(tree, root) => (tree, *root),
    };
    let arena = Arena::default();
    let none = ClassAd::new();
    let scope = Scope { ad: AdRef::Own(context.my_ad().unwrap_or(&none)), parent: None, detached: false };
    let mut evaluator = Evaluator::new(context.setting(&arena));
    let mut builder = Builder::default();
    let flat = evaluator.fresh(Some(&scope), |evaluator| {
        Flattener { evaluator, builder: &mut builder, inline }.whole(tree, root, At::scope(Some(&scope)))
    });
    match flat.ok()? {
        Part::Value(value) => Some(Flat::Value(value.to_value())),
        Part::Tree(root) => Some(Flat::Expr(Expr::from_builder(&builder, root))),
    }
}

/// What a part comes to.
#[derive(Clone, Copy)]
enum Part<'a> {
    Value(Computed<'a>),
    Tree(NodeId),
}

/// What an operand of an associative operator comes to: constants and the rest may still be apart.
#[derive(Clone, Copy)]
enum Operand<'a> {
    Whole(Part<'a>),
    Split(BinaryOp, Computed<'a>, NodeId),
}

struct Flattener<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    builder: &'e mut Builder,
    inline: bool,
}

impl<'a> Flattener<'_, 'a> {
    /// A value as a literal. The reference has none for lists and ads that functions made, and fails.
    fn literal(&mut self, value: Computed<'a>) -> Result<NodeId, Failure> {
        match value {
            Computed::List(_) | Computed::Ad(_) => Err(Failure),
            value => Ok(push_value(self.builder, &value.to_value())),
        }
    }

    fn node_of(&mut self, part: Part<'a>) -> Result<NodeId, Failure> {
        match part {
            Part::Tree(id) => Ok(id),
            Part::Value(value) => self.literal(value),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: NodeId, right: NodeId) -> Part<'a> {
        Part::Tree(self.builder.push(Node::Binary(op, left, right)))
    }

    /// An expression of which constants and rest are joined.
    fn whole(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Result<Part<'a>, Failure> {
        Ok(match self.operand(tree, id, at)? {
            Operand::Whole(part) => part,
            Operand::Split(op, value, rest) => {
                let value = self.literal(value)?;
                self.binary(op, value, rest)
            }
        })
    }

    fn operand(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Result<Operand<'a>, Failure> {
        self.evaluator.step()?;
        self.evaluator.enter()?;
        self.node(tree, id, at)
    }

    /// One node. What each kind needs stands in a function of its own that is not taken in here: the reference goes as deep as
    /// its depth allows, and the frames of all these levels must fit into the stack that an evaluation may use.
    fn node(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Result<Operand<'a>, Failure> {
        let part = match tree.node(id) {
            Node::Binary(op, left, right) => match op {
                BinaryOp::Add
                | BinaryOp::Multiply
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::And
                | BinaryOp::Or => return self.associative(tree, op, (left, right), at),
                _ => self.other_binary(tree, op, (left, right), at),
            },
            Node::Unary(op, operand) => self.unary(tree, op, operand, at),
            Node::Ternary { condition, branches } => {
                self.conditional(tree, condition, tree.links(branches, 2), at)
            }
            Node::Name { .. } => self.reference(tree, id, (NO_BASE, id), at),
            Node::Attr { base, name } => self.reference(tree, id, (base, name), at),
            Node::Call { .. } => self.call(tree, id, at),
            Node::List { first, count } => self.list(tree, tree.links(first, count), at),
            Node::Ad { first, count } => self.ad(tree, first, count, at),
            _ => self.evaluator.eval(tree, id, at).map(Part::Value),
        };
        part.map(Operand::Whole)
    }

    /// A binary operator whose constants stay where they are.
    #[inline(never)]
    fn other_binary(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        (left, right): (NodeId, NodeId),
        at: At<'a>,
    ) -> Result<Part<'a>, Failure> {
        let left = self.whole(tree, left, at)?;
        let right = self.whole(tree, right, at)?;
        self.joined_binary(op, left, right)
    }

    #[inline(never)]
    fn joined_binary(&mut self, op: BinaryOp, left: Part<'a>, right: Part<'a>) -> Result<Part<'a>, Failure> {
        Ok(match (left, right) {
            (Part::Value(left), Part::Value(right)) => Part::Value(self.operate(op, left, right)?),
            (left, right) => match (self.node_of(left), self.node_of(right)) {
                (Ok(left), Ok(right)) => self.binary(op, left, right),
                // Where there is no literal the reference forgets to fail.
                _ if !matches!(op, BinaryOp::Elvis | BinaryOp::Subscript) => Part::Value(Computed::Undefined),
                _ => return Err(Failure),
            },
        })
    }

    #[inline(never)]
    fn unary(
        &mut self,
        tree: &'a Arc<Tree>,
        op: UnaryOp,
        operand: NodeId,
        at: At<'a>,
    ) -> Result<Part<'a>, Failure> {
        Ok(match self.whole(tree, operand, at)? {
            Part::Value(value) => Part::Value(operators::unary(op, value)),
            Part::Tree(operand) => Part::Tree(self.builder.push(Node::Unary(op, operand))),
        })
    }

    #[inline(never)]
    fn call(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Result<Part<'a>, Failure> {
        let Node::Call { name, first, count } = tree.node(id) else { return Err(Failure) };
        let mut arguments = Vec::new();
        let mut known = true;
        if self.evaluator.function(tree, name).is_none() {
            return Ok(Part::Value(Computed::Error));
        }
        for argument in tree.links(first, count) {
            let part = self.whole(tree, *argument, at)?;
            known &= matches!(part, Part::Value(_));
            arguments.push(self.node_of(part)?);
        }
        if known {
            return self.evaluator.eval(tree, id, at).map(Part::Value);
        }
        Ok(Part::Tree(self.builder.call(tree.name_bytes(name), &arguments)))
    }

    #[inline(never)]
    fn list(&mut self, tree: &'a Arc<Tree>, written: &[NodeId], at: At<'a>) -> Result<Part<'a>, Failure> {
        let mut items = Vec::new();
        for item in written {
            let part = self.whole(tree, *item, at)?;
            items.push(self.node_of(part)?);
        }
        Ok(Part::Tree(self.builder.list(&items)))
    }

    #[inline(never)]
    fn ad(&mut self, tree: &'a Arc<Tree>, first: u32, count: u32, at: At<'a>) -> Result<Part<'a>, Failure> {
        let ad = AdRef::Literal { tree, first, count };
        let scope =
            self.evaluator.arena.scope(Scope { ad, parent: at.written, detached: false }).ok_or(Failure)?;
        let mut fields = Vec::new();
        for field in tree.fields(first, count) {
            let part = self.whole(tree, field.node, At::scope(Some(scope)))?;
            let node = self.node_of(part)?;
            fields.push(Field { name: self.builder.name(tree.name_bytes(field.name)), node });
        }
        Ok(Part::Tree(self.builder.ad(&mut fields)))
    }

    /// A binary operator on two values.
    fn operate(
        &mut self,
        op: BinaryOp,
        left: Computed<'a>,
        right: Computed<'a>,
    ) -> Result<Computed<'a>, Failure> {
        Ok(match op {
            BinaryOp::And => logical(left, right, Connective::And),
            BinaryOp::Or => logical(left, right, Connective::Or),
            BinaryOp::Elvis if left.is_undefined() => right,
            BinaryOp::Elvis => left,
            BinaryOp::Is => operators::identical(left, right),
            BinaryOp::Isnt => operators::not_identical(left, right),
            BinaryOp::Subscript => return self.evaluator.subscript(left, right),
            _ => operators::binary(op, left, right),
        })
    }

    /// Operators whose constants may be collected from both operands.
    #[inline(never)]
    fn associative(
        &mut self,
        tree: &'a Arc<Tree>,
        op: BinaryOp,
        (left, right): (NodeId, NodeId),
        at: At<'a>,
    ) -> Result<Operand<'a>, Failure> {
        let left = self.operand(tree, left, at)?;
        let right = self.operand(tree, right, at)?;
        self.combine(op, left, right)
    }

    /// Joins what two operands came to (reference: `Operation::combine`).
    #[inline(never)]
    fn combine(
        &mut self,
        op: BinaryOp,
        left: Operand<'a>,
        right: Operand<'a>,
    ) -> Result<Operand<'a>, Failure> {
        use Operand::{Split, Whole};
        use Part::{Tree, Value};
        if let Some(decided) = self.decided(op, left, right)? {
            return Ok(decided);
        }
        let (left, right) = match op {
            BinaryOp::And | BinaryOp::Or => (coerced(left, right), coerced(right, left)),
            _ => (left, right),
        };
        Ok(match (left, right) {
            (Whole(Value(a)), Whole(Value(b))) => Whole(Value(self.operate(op, a, b)?)),
            (Whole(Value(value)), Whole(Tree(rest))) | (Whole(Tree(rest)), Whole(Value(value))) => {
                Split(op, value, rest)
            }
            (Whole(Tree(a)), Whole(Tree(b))) => Whole(self.binary(op, a, b)),
            (Split(left_op, a, x), Split(right_op, b, y)) if op == left_op && op == right_op => {
                let rest = self.builder.push(Node::Binary(op, x, y));
                Split(op, self.operate(op, a, b)?, rest)
            }
            (Split(left_op, a, x), Whole(Value(b))) if op == left_op => Split(op, self.operate(op, a, b)?, x),
            (Whole(Value(a)), Split(right_op, b, y)) if op == right_op => {
                Split(op, self.operate(op, a, b)?, y)
            }
            (Split(left_op, a, x), other) if op == left_op => {
                let other = self.rest_of(other)?;
                Split(op, a, self.builder.push(Node::Binary(op, x, other)))
            }
            (other, Split(right_op, b, y)) if op == right_op => {
                let other = self.rest_of(other)?;
                Split(op, b, self.builder.push(Node::Binary(op, other, y)))
            }
            (left, right) => {
                let left = self.joined(left)?;
                let right = self.joined(right)?;
                Whole(self.binary(op, left, right))
            }
        })
    }

    /// What an operand comes to beside its constant. The reference loses the constant here: `1 + a + 2 * b` becomes
    /// `1 + a + b` (operators.cpp, combine).
    fn rest_of(&mut self, operand: Operand<'a>) -> Result<NodeId, Failure> {
        match operand {
            Operand::Whole(part) => self.node_of(part),
            Operand::Split(_, _, rest) => Ok(rest),
        }
    }

    fn joined(&mut self, operand: Operand<'a>) -> Result<NodeId, Failure> {
        match operand {
            Operand::Whole(part) => self.node_of(part),
            Operand::Split(op, value, rest) => {
                let value = self.literal(value)?;
                Ok(self.builder.push(Node::Binary(op, value, rest)))
            }
        }
    }

    /// `&&` and `||` with exactly one operand known: it may decide, or may be left out.
    fn decided(
        &mut self,
        op: BinaryOp,
        left: Operand<'a>,
        right: Operand<'a>,
    ) -> Result<Option<Operand<'a>>, Failure> {
        if !matches!(op, BinaryOp::And | BinaryOp::Or) {
            return Ok(None);
        }
        let unknown = Computed::Undefined;
        let (result, known, rest) = match (left, right) {
            (Operand::Whole(Part::Value(_)), Operand::Whole(Part::Value(_))) => return Ok(None),
            (Operand::Whole(Part::Value(value)), rest) => (self.operate(op, value, unknown)?, value, rest),
            (rest, Operand::Whole(Part::Value(value))) => (self.operate(op, unknown, value)?, value, rest),
            _ => return Ok(None),
        };
        if let Computed::Bool(_) = result {
            return Ok(Some(Operand::Whole(Part::Value(result))));
        }
        if op == BinaryOp::And && known.truth() == Some(true) {
            // Whatever was apart in it is taken together; the constant goes unnoticed in the reference.
            return Ok(Some(match rest {
                Operand::Split(_, _, rest) => Operand::Whole(Part::Tree(rest)),
                whole => whole,
            }));
        }
        Ok(None)
    }

    #[inline(never)]
    fn conditional(
        &mut self,
        tree: &'a Arc<Tree>,
        condition: NodeId,
        branches: &[NodeId],
        at: At<'a>,
    ) -> Result<Part<'a>, Failure> {
        let selector = self.whole(tree, condition, at)?;
        let selector = match selector {
            Part::Value(value) if !value.is_undefined() => {
                return match value.truth() {
                    None => Ok(Part::Value(Computed::Error)),
                    Some(truth) => self.whole(tree, branches[usize::from(!truth)], at),
                };
            }
            Part::Value(_) => None,
            Part::Tree(id) => Some(id),
        };
        let yes = self.whole(tree, branches[0], at)?;
        let no = self.whole(tree, branches[1], at)?;
        let no = self.node_of(no)?;
        let condition = selector.unwrap_or_else(|| self.builder.copy(tree, condition));
        // Where there is no literal the reference forgets to fail, and its `MakeOperation` takes a conditional without a first
        // branch for `?:`.
        let Ok(yes) = self.node_of(yes) else {
            return Ok(self.binary(BinaryOp::Elvis, condition, no));
        };
        let branches = self.builder.link(&[yes, no]);
        Ok(Part::Tree(self.builder.push(Node::Ternary { condition, branches })))
    }

    #[inline(never)]
    fn reference(
        &mut self,
        tree: &'a Arc<Tree>,
        id: NodeId,
        (base, name): (NodeId, NodeId),
        at: At<'a>,
    ) -> Result<Part<'a>, Failure> {
        let wanted = Wanted::of(tree, name);
        let found = match base {
            NO_BASE => self.evaluator.resolve(wanted, at)?,
            ABSOLUTE => {
                let root = self.evaluator.root().ok_or(Failure)?;
                self.evaluator.look_up(root, wanted)?
            }
            base => {
                if self.evaluator.is_deepest() {
                    return Ok(Part::Value(Computed::Error));
                }
                let value = self.evaluator.deeper(|evaluator| evaluator.eval(tree, base, at))?;
                match value {
                    Computed::Ad(scope) => self.evaluator.look_up(scope, wanted)?,
                    Computed::Undefined => None,
                    Computed::List(_) if !self.inline => None,
                    Computed::List(_) => {
                        // What is selected from a list is a list of values, flattened as any other.
                        let list = self.evaluator.select(value, wanted, at)?;
                        return Ok(Part::Tree(if self.inline {
                            push_value(self.builder, &list.to_value())
                        } else {
                            self.builder.copy(tree, id)
                        }));
                    }
                    _ => return Ok(Part::Value(Computed::Error)),
                }
            }
        };
        let Some((bound, scope)) = found else {
            // A base that leads to nothing is inlined by itself.
            if self.inline
                && !matches!(base, NO_BASE | ABSOLUTE)
                && let Ok(Part::Tree(base)) = self.evaluator_deeper(tree, base, at)
            {
                return Ok(Part::Tree(self.builder.attr(base, tree.name_bytes(name))));
            }
            return Ok(Part::Tree(self.builder.copy(tree, id)));
        };
        let flat = match bound {
            Bound::Slot { slot: Slot::Expr(root, inner), .. } => {
                if matches!(inner.node(*root), Node::Ad { .. }) {
                    return Ok(Part::Tree(self.builder.copy(tree, id)));
                }
                self.evaluator_deeper(inner, *root, At::scope(Some(scope)))?
            }
            Bound::Node { tree: inner, id: root, .. } => {
                if matches!(inner.node(root), Node::Ad { .. }) {
                    return Ok(Part::Tree(self.builder.copy(tree, id)));
                }
                self.evaluator_deeper(inner, root, At::scope(Some(scope)))?
            }
            Bound::Ad(_) => return Ok(Part::Tree(self.builder.copy(tree, id))),
            other => Part::Value(self.evaluator.eval_bound(other, scope)?),
        };
        Ok(match flat {
            Part::Tree(_) if !self.inline => Part::Tree(self.builder.copy(tree, id)),
            other => other,
        })
    }

    /// Flattens one level of the reference's depth further down.
    fn evaluator_deeper(&mut self, tree: &'a Arc<Tree>, id: NodeId, at: At<'a>) -> Result<Part<'a>, Failure> {
        let (builder, inline) = (&mut *self.builder, self.inline);
        self.evaluator.deeper(|evaluator| Flattener { evaluator, builder, inline }.whole(tree, id, at))
    }
}

/// A logical operator on two values. Unlike in an evaluation, where the left operand may settle it, a right operand without truth
/// is an error (reference: `doLogical`).
fn logical<'a>(left: Computed<'a>, right: Computed<'a>, connective: Connective) -> Computed<'a> {
    let right = Logic::of(&Ok(right));
    let result = match right {
        Logic::Other => Logic::Error,
        right => connective.of(Logic::of(&Ok(left)), || right),
    };
    result.into_computed().unwrap_or(Computed::Error)
}

/// A known operand of a logical operator beside one that is not known becomes a truth value.
fn coerced<'a>(operand: Operand<'a>, other: Operand<'a>) -> Operand<'a> {
    match (operand, other) {
        (Operand::Whole(Part::Value(value)), Operand::Whole(Part::Tree(_)) | Operand::Split(..)) => {
            Operand::Whole(Part::Value(as_truth(value)))
        }
        (operand, _) => operand,
    }
}

/// A number as the truth value that it stands for.
fn as_truth(value: Computed<'_>) -> Computed<'_> {
    value.truth().map_or(value, Computed::Bool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::System;
    use crate::syntax::Dialect;

    /// What is left of an expression beside an ad, as it prints.
    fn left_of(my: &str, text: &str) -> Option<String> {
        let my = ClassAd::parse_new(my.as_bytes(), Dialect::default()).unwrap();
        let context = Context::new(&System).my(&my);
        flatten(&Expr::parse(text.as_bytes()).unwrap(), context).map(|flat| match flat {
            Flat::Value(value) => value.unparse().to_string(),
            Flat::Expr(expr) => expr.unparse().to_string(),
        })
    }

    #[test]
    fn a_conditional_whose_first_branch_has_no_literal_becomes_one_without_it() {
        for (text, expected) in [
            ("{}!=((\"\"))?splitSlotName(string(false)):(b)", Some("{  } != \"\" ?: (b)")),
            ("undefined ? (splitSlotName(\"a\")) : 3", Some("undefined ?: 3")),
            ("size(x ? splitSlotName(\"a\") : b)", Some("size(x ?: b)")),
            ("(x ? splitSlotName(\"a\") : b) + 1", Some("1 + (x ?: b)")),
            ("x ? b : splitSlotName(\"a\")", None),
            ("x ?: splitSlotName(\"a\")", None),
            ("x < splitSlotName(\"a\")", Some("undefined")),
        ] {
            assert_eq!(left_of("[]", text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn an_attribute_that_leads_to_itself_through_an_ad_ends_at_the_depth_of_the_reference() {
        for (my, expected) in [
            ("[y = [].y/1 > u]", Some("y")),
            ("[y = (([].y/1)) > u]", Some("y")),
            ("[y = [].y + 1]", Some("error")),
            ("[y = y + 1]", None),
        ] {
            assert_eq!(left_of(my, "y").as_deref(), expected, "{my}");
        }
    }
}
