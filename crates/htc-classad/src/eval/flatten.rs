//! Partial evaluation: replaces the known parts of an expression (`_Flatten`: operators, attrrefs, fnCall.cpp).

use std::sync::Arc;

use crate::ad::{ClassAd, StoredValue, Value, push_literal};
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{ComputedValue, EvalFailure};
use crate::eval::eval_arena::EvalArena;
use crate::eval::evaluator::{EvalScopes, Evaluator};
use crate::eval::logic::{Connective, LogicValue};
use crate::eval::scope::{AdRef, AdScope};
use crate::eval::{Context, operators};
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{
    ABSOLUTE_BASE, AdField, BinaryOp, ExprTree, NO_BASE, Node, NodeId, TreeBuilder, UnaryOp,
};

/// Result of partial evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum FlattenResult {
    /// Value, if everything was known.
    Value(Value),
    /// Remaining expression.
    Expr(Expr),
}

/// Replaces what the context's MY determines; other attributes remain references. `None` if the reference fails.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, flatten::{self, FlattenResult}};
/// use htc_classad::System;
/// let mut ad = ClassAd::new();
/// ad.set("a", 2);
/// let world = System;
/// let context = Context::new(&world).my(&ad);
/// let flat = flatten::flatten(&Expr::parse(b"nosuch + a + 1").unwrap(), context);
/// assert_eq!(flat, Some(FlattenResult::Expr(Expr::parse(b"3 + nosuch").unwrap())));
/// ```
pub fn flatten(expr: &Expr, context: Context<'_>) -> Option<FlattenResult> {
    flatten_with(expr, context, false)
}

/// Flattens like [`flatten`], but replaces attributes by the remainder of their expressions.
pub fn inline(expr: &Expr, context: Context<'_>) -> Option<FlattenResult> {
    flatten_with(expr, context, true)
}

fn flatten_with(expr: &Expr, context: Context<'_>, inline: bool) -> Option<FlattenResult> {
    let (tree, root) = match &expr.0 {
        ExprRepr::Scalar(scalar) => return Some(FlattenResult::Value(scalar.as_borrowed().into())),
        ExprRepr::Node(tree, root) => (tree, *root),
    };
    let arena = EvalArena::default();
    let none = ClassAd::new();
    let scope = AdScope { ad: AdRef::Own(context.my_ad().unwrap_or(&none)), parent: None, detached: false };
    let mut evaluator = Evaluator::new(context.evaluator_setup(&arena));
    let mut builder = TreeBuilder::default();
    let flat = evaluator.with_fresh_budget(Some(&scope), |evaluator| {
        Flattener { evaluator, builder: &mut builder, inline }.flatten_whole(
            tree,
            root,
            EvalScopes::from_scope(Some(&scope)),
        )
    });
    match flat.ok()? {
        FlatPart::Value(value) => Some(FlattenResult::Value(value.to_value())),
        FlatPart::Tree(root) => Some(FlattenResult::Expr(Expr::from_builder(&builder, root))),
    }
}

#[derive(Clone, Copy)]
enum FlatPart<'a> {
    Value(ComputedValue<'a>),
    Tree(NodeId),
}

/// Result of flattening an operand of an associative operator: its constant and the rest may still be separate.
#[derive(Clone, Copy)]
enum FlatOperand<'a> {
    Whole(FlatPart<'a>),
    Split(BinaryOp, ComputedValue<'a>, NodeId),
}

struct Flattener<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    builder: &'e mut TreeBuilder,
    inline: bool,
}

impl<'a> Flattener<'_, 'a> {
    /// Adds a value as a literal. The reference cannot do this for lists and ads, and fails.
    fn push_literal(&mut self, value: ComputedValue<'a>) -> Result<NodeId, EvalFailure> {
        match value {
            ComputedValue::List(_) | ComputedValue::Ad(_) => Err(EvalFailure),
            value => Ok(push_literal(self.builder, &value.to_value())),
        }
    }

    fn part_to_node(&mut self, part: FlatPart<'a>) -> Result<NodeId, EvalFailure> {
        match part {
            FlatPart::Tree(id) => Ok(id),
            FlatPart::Value(value) => self.push_literal(value),
        }
    }

    fn push_binary(&mut self, op: BinaryOp, left: NodeId, right: NodeId) -> FlatPart<'a> {
        FlatPart::Tree(self.builder.push_node(Node::Binary(op, left, right)))
    }

    /// Flattens an expression and joins its constant with the rest.
    fn flatten_whole(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        Ok(match self.flatten_operand(tree, id, at)? {
            FlatOperand::Whole(part) => part,
            FlatOperand::Split(op, value, rest) => {
                let value = self.push_literal(value)?;
                self.push_binary(op, value, rest)
            }
        })
    }

    fn flatten_operand(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        self.evaluator.count_step()?;
        self.evaluator.check_stack()?;
        self.flatten_node(tree, id, at)
    }

    /// Flattens one node. The functions for each kind are not inlined, so that deep nesting fits into the stack.
    fn flatten_node(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        let part = match tree.node(id) {
            Node::Binary(op, left, right) => match op {
                BinaryOp::Add
                | BinaryOp::Multiply
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::And
                | BinaryOp::Or => return self.flatten_associative(tree, op, (left, right), at),
                _ => self.flatten_other_binary(tree, op, (left, right), at),
            },
            Node::Unary(op, operand) => self.flatten_unary(tree, op, operand, at),
            Node::Ternary { condition, branches } => {
                self.flatten_conditional(tree, condition, tree.links(branches, 2), at)
            }
            Node::Name { .. } => self.flatten_reference(tree, id, (NO_BASE, id), at),
            Node::Attr { base, name } => self.flatten_reference(tree, id, (base, name), at),
            Node::Call { .. } => self.flatten_call(tree, id, at),
            Node::List { first, count } => self.flatten_list(tree, tree.links(first, count), at),
            Node::Ad { first, count } => self.flatten_ad(tree, first, count, at),
            _ => self.evaluator.eval(tree, id, at).map(FlatPart::Value),
        };
        part.map(FlatOperand::Whole)
    }

    /// Flattens a binary operator whose constants cannot be collected.
    #[inline(never)]
    fn flatten_other_binary(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        (left, right): (NodeId, NodeId),
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let left = self.flatten_whole(tree, left, at)?;
        let right = self.flatten_whole(tree, right, at)?;
        self.join_binary(op, left, right)
    }

    #[inline(never)]
    fn join_binary(
        &mut self,
        op: BinaryOp,
        left: FlatPart<'a>,
        right: FlatPart<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        Ok(match (left, right) {
            (FlatPart::Value(left), FlatPart::Value(right)) => {
                FlatPart::Value(self.apply_binary(op, left, right)?)
            }
            (left, right) => match (self.part_to_node(left), self.part_to_node(right)) {
                (Ok(left), Ok(right)) => self.push_binary(op, left, right),
                // The reference ignores that an operand has no literal.
                _ if !matches!(op, BinaryOp::Elvis | BinaryOp::Subscript) => {
                    FlatPart::Value(ComputedValue::Undefined)
                }
                _ => return Err(EvalFailure),
            },
        })
    }

    #[inline(never)]
    fn flatten_unary(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: UnaryOp,
        operand: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        Ok(match self.flatten_whole(tree, operand, at)? {
            FlatPart::Value(value) => FlatPart::Value(operators::apply_unary(op, value)),
            FlatPart::Tree(operand) => FlatPart::Tree(self.builder.push_node(Node::Unary(op, operand))),
        })
    }

    #[inline(never)]
    fn flatten_call(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let Node::Call { name, first, count } = tree.node(id) else { return Err(EvalFailure) };
        let mut arguments = Vec::new();
        let mut known = true;
        if self.evaluator.find_function(tree, name).is_none() {
            return Ok(FlatPart::Value(ComputedValue::Error));
        }
        for argument in tree.links(first, count) {
            let part = self.flatten_whole(tree, *argument, at)?;
            known &= matches!(part, FlatPart::Value(_));
            arguments.push(self.part_to_node(part)?);
        }
        if known {
            return self.evaluator.eval(tree, id, at).map(FlatPart::Value);
        }
        Ok(FlatPart::Tree(self.builder.push_call(tree.name_bytes(name), &arguments)))
    }

    #[inline(never)]
    fn flatten_list(
        &mut self,
        tree: &'a Arc<ExprTree>,
        written: &[NodeId],
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let mut items = Vec::new();
        for item in written {
            let part = self.flatten_whole(tree, *item, at)?;
            items.push(self.part_to_node(part)?);
        }
        Ok(FlatPart::Tree(self.builder.push_list(&items)))
    }

    #[inline(never)]
    fn flatten_ad(
        &mut self,
        tree: &'a Arc<ExprTree>,
        first: u32,
        count: u32,
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let ad = AdRef::Literal { tree, first, count };
        let scope = self
            .evaluator
            .arena
            .add_scope(AdScope { ad, parent: at.written_in, detached: false })
            .ok_or(EvalFailure)?;
        let mut fields = Vec::new();
        for field in tree.fields(first, count) {
            let part = self.flatten_whole(tree, field.node, EvalScopes::from_scope(Some(scope)))?;
            let node = self.part_to_node(part)?;
            fields.push(AdField { name: self.builder.push_name(tree.name_bytes(field.name)), node });
        }
        Ok(FlatPart::Tree(self.builder.push_ad(&mut fields)))
    }

    fn apply_binary(
        &mut self,
        op: BinaryOp,
        left: ComputedValue<'a>,
        right: ComputedValue<'a>,
    ) -> Result<ComputedValue<'a>, EvalFailure> {
        Ok(match op {
            BinaryOp::And => apply_logical(left, right, Connective::And),
            BinaryOp::Or => apply_logical(left, right, Connective::Or),
            BinaryOp::Elvis if left.is_undefined() => right,
            BinaryOp::Elvis => left,
            BinaryOp::Is => operators::identical(left, right),
            BinaryOp::Isnt => operators::not_identical(left, right),
            BinaryOp::Subscript => return self.evaluator.eval_subscript(left, right),
            _ => operators::apply_binary(op, left, right),
        })
    }

    /// Flattens operators whose constants may be collected from both operands.
    #[inline(never)]
    fn flatten_associative(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        (left, right): (NodeId, NodeId),
        at: EvalScopes<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        let left = self.flatten_operand(tree, left, at)?;
        let right = self.flatten_operand(tree, right, at)?;
        self.combine_operands(op, left, right)
    }

    /// Combines the results of two operands (reference: `Operation::combine`).
    #[inline(never)]
    fn combine_operands(
        &mut self,
        op: BinaryOp,
        left: FlatOperand<'a>,
        right: FlatOperand<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        use FlatOperand::{Split, Whole};
        use FlatPart::{Tree, Value};
        if let Some(decided) = self.decide_logical(op, left, right)? {
            return Ok(decided);
        }
        let (left, right) = match op {
            BinaryOp::And | BinaryOp::Or => (coerce_to_truth(left, right), coerce_to_truth(right, left)),
            _ => (left, right),
        };
        Ok(match (left, right) {
            (Whole(Value(a)), Whole(Value(b))) => Whole(Value(self.apply_binary(op, a, b)?)),
            (Whole(Value(value)), Whole(Tree(rest))) | (Whole(Tree(rest)), Whole(Value(value))) => {
                Split(op, value, rest)
            }
            (Whole(Tree(a)), Whole(Tree(b))) => Whole(self.push_binary(op, a, b)),
            (Split(left_op, a, x), Split(right_op, b, y)) if op == left_op && op == right_op => {
                let rest = self.builder.push_node(Node::Binary(op, x, y));
                Split(op, self.apply_binary(op, a, b)?, rest)
            }
            (Split(left_op, a, x), Whole(Value(b))) if op == left_op => {
                Split(op, self.apply_binary(op, a, b)?, x)
            }
            (Whole(Value(a)), Split(right_op, b, y)) if op == right_op => {
                Split(op, self.apply_binary(op, a, b)?, y)
            }
            (Split(left_op, a, x), other) if op == left_op => {
                let other = self.rest_without_constant(other)?;
                Split(op, a, self.builder.push_node(Node::Binary(op, x, other)))
            }
            (other, Split(right_op, b, y)) if op == right_op => {
                let other = self.rest_without_constant(other)?;
                Split(op, b, self.builder.push_node(Node::Binary(op, other, y)))
            }
            (left, right) => {
                let left = self.join_operand(left)?;
                let right = self.join_operand(right)?;
                Whole(self.push_binary(op, left, right))
            }
        })
    }

    /// Returns the operand without its constant, which the reference loses: `1 + a + 2 * b` becomes `1 + a + b`.
    fn rest_without_constant(&mut self, operand: FlatOperand<'a>) -> Result<NodeId, EvalFailure> {
        match operand {
            FlatOperand::Whole(part) => self.part_to_node(part),
            FlatOperand::Split(_, _, rest) => Ok(rest),
        }
    }

    fn join_operand(&mut self, operand: FlatOperand<'a>) -> Result<NodeId, EvalFailure> {
        match operand {
            FlatOperand::Whole(part) => self.part_to_node(part),
            FlatOperand::Split(op, value, rest) => {
                let value = self.push_literal(value)?;
                Ok(self.builder.push_node(Node::Binary(op, value, rest)))
            }
        }
    }

    /// Flattens `&&` and `||` with one known operand that decides the result or can be dropped, else returns `None`.
    fn decide_logical(
        &mut self,
        op: BinaryOp,
        left: FlatOperand<'a>,
        right: FlatOperand<'a>,
    ) -> Result<Option<FlatOperand<'a>>, EvalFailure> {
        if !matches!(op, BinaryOp::And | BinaryOp::Or) {
            return Ok(None);
        }
        let unknown = ComputedValue::Undefined;
        let (result, known, rest) = match (left, right) {
            (FlatOperand::Whole(FlatPart::Value(_)), FlatOperand::Whole(FlatPart::Value(_))) => {
                return Ok(None);
            }
            (FlatOperand::Whole(FlatPart::Value(value)), rest) => {
                (self.apply_binary(op, value, unknown)?, value, rest)
            }
            (rest, FlatOperand::Whole(FlatPart::Value(value))) => {
                (self.apply_binary(op, unknown, value)?, value, rest)
            }
            _ => return Ok(None),
        };
        if let ComputedValue::Bool(_) = result {
            return Ok(Some(FlatOperand::Whole(FlatPart::Value(result))));
        }
        if op == BinaryOp::And && known.truth() == Some(true) {
            // Only the rest is used: the reference drops the separate constant here.
            return Ok(Some(match rest {
                FlatOperand::Split(_, _, rest) => FlatOperand::Whole(FlatPart::Tree(rest)),
                whole => whole,
            }));
        }
        Ok(None)
    }

    #[inline(never)]
    fn flatten_conditional(
        &mut self,
        tree: &'a Arc<ExprTree>,
        condition: NodeId,
        branches: &[NodeId],
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let selector = self.flatten_whole(tree, condition, at)?;
        let selector = match selector {
            FlatPart::Value(value) if !value.is_undefined() => {
                return match value.truth() {
                    None => Ok(FlatPart::Value(ComputedValue::Error)),
                    Some(truth) => self.flatten_whole(tree, branches[usize::from(!truth)], at),
                };
            }
            FlatPart::Value(_) => None,
            FlatPart::Tree(id) => Some(id),
        };
        let yes = self.flatten_whole(tree, branches[0], at)?;
        let no = self.flatten_whole(tree, branches[1], at)?;
        let no = self.part_to_node(no)?;
        let condition = selector.unwrap_or_else(|| self.builder.copy_node(tree, condition));
        // If the first branch has no literal, `MakeOperation` of the reference makes a `?:`.
        let Ok(yes) = self.part_to_node(yes) else {
            return Ok(self.push_binary(BinaryOp::Elvis, condition, no));
        };
        let branches = self.builder.push_links(&[yes, no]);
        Ok(FlatPart::Tree(self.builder.push_node(Node::Ternary { condition, branches })))
    }

    #[inline(never)]
    fn flatten_reference(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        (base, name): (NodeId, NodeId),
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let wanted = NameLookup::from_tree(tree, name);
        let found = match base {
            NO_BASE => self.evaluator.resolve_name(wanted, at)?,
            ABSOLUTE_BASE => {
                let root = self.evaluator.root_scope().ok_or(EvalFailure)?;
                self.evaluator.look_up(root, wanted)?
            }
            base => {
                if self.evaluator.is_deepest() {
                    return Ok(FlatPart::Value(ComputedValue::Error));
                }
                let value = self.evaluator.with_deeper_level(|evaluator| evaluator.eval(tree, base, at))?;
                match value {
                    ComputedValue::Ad(scope) => self.evaluator.look_up(scope, wanted)?,
                    ComputedValue::Undefined => None,
                    ComputedValue::List(_) if !self.inline => None,
                    ComputedValue::List(_) => {
                        // Selecting from a list gives a list of values, which is inlined as a literal.
                        let list = self.evaluator.select_attribute(value, wanted, at)?;
                        return Ok(FlatPart::Tree(if self.inline {
                            push_literal(self.builder, &list.to_value())
                        } else {
                            self.builder.copy_node(tree, id)
                        }));
                    }
                    _ => return Ok(FlatPart::Value(ComputedValue::Error)),
                }
            }
        };
        let Some((bound, scope)) = found else {
            // If the name is not found in the base, only the base is inlined.
            if self.inline
                && !matches!(base, NO_BASE | ABSOLUTE_BASE)
                && let Ok(FlatPart::Tree(base)) = self.flatten_deeper(tree, base, at)
            {
                return Ok(FlatPart::Tree(self.builder.push_attribute(base, tree.name_bytes(name))));
            }
            return Ok(FlatPart::Tree(self.builder.copy_node(tree, id)));
        };
        let flat = match bound {
            Binding::Attribute { slot: StoredValue::Expr(root, inner), .. } => {
                if matches!(inner.node(*root), Node::Ad { .. }) {
                    return Ok(FlatPart::Tree(self.builder.copy_node(tree, id)));
                }
                self.flatten_deeper(inner, *root, EvalScopes::from_scope(Some(scope)))?
            }
            Binding::NestedAttribute { tree: inner, id: root, .. } => {
                if matches!(inner.node(root), Node::Ad { .. }) {
                    return Ok(FlatPart::Tree(self.builder.copy_node(tree, id)));
                }
                self.flatten_deeper(inner, root, EvalScopes::from_scope(Some(scope)))?
            }
            Binding::Ad(_) => return Ok(FlatPart::Tree(self.builder.copy_node(tree, id))),
            other => FlatPart::Value(self.evaluator.eval_binding(other, scope)?),
        };
        Ok(match flat {
            FlatPart::Tree(_) if !self.inline => FlatPart::Tree(self.builder.copy_node(tree, id)),
            other => other,
        })
    }

    fn flatten_deeper(
        &mut self,
        tree: &'a Arc<ExprTree>,
        id: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatPart<'a>, EvalFailure> {
        let (builder, inline) = (&mut *self.builder, self.inline);
        self.evaluator.with_deeper_level(|evaluator| {
            Flattener { evaluator, builder, inline }.flatten_whole(tree, id, at)
        })
    }
}

/// Applies a logical operator to two values. A right operand without a truth value is an error (`doLogical`).
fn apply_logical<'a>(
    left: ComputedValue<'a>,
    right: ComputedValue<'a>,
    connective: Connective,
) -> ComputedValue<'a> {
    let right = LogicValue::from_result(&Ok(right));
    let result = match right {
        LogicValue::Other => LogicValue::Error,
        right => connective.evaluate(LogicValue::from_result(&Ok(left)), || right),
    };
    result.into_computed().unwrap_or(ComputedValue::Error)
}

/// Converts a known operand of a logical operator to a boolean if the other operand is not fully known.
fn coerce_to_truth<'a>(operand: FlatOperand<'a>, other: FlatOperand<'a>) -> FlatOperand<'a> {
    match (operand, other) {
        (
            FlatOperand::Whole(FlatPart::Value(value)),
            FlatOperand::Whole(FlatPart::Tree(_)) | FlatOperand::Split(..),
        ) => FlatOperand::Whole(FlatPart::Value(to_truth_value(value))),
        (operand, _) => operand,
    }
}

/// Converts a value with a truth value, such as a number, to a boolean; returns other values unchanged.
fn to_truth_value(value: ComputedValue<'_>) -> ComputedValue<'_> {
    value.truth().map_or(value, ComputedValue::Bool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval_world::System;
    use crate::syntax::Dialect;

    fn left_of(my: &str, text: &str) -> Option<String> {
        let my = ClassAd::parse_new(my.as_bytes(), Dialect::default()).unwrap();
        let context = Context::new(&System).my(&my);
        flatten(&Expr::parse(text.as_bytes()).unwrap(), context).map(|flat| match flat {
            FlattenResult::Value(value) => value.unparse().to_string(),
            FlattenResult::Expr(expr) => expr.unparse().to_string(),
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
