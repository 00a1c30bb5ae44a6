//! Partial evaluation: replaces the parts of an expression whose value is known by this value (`_Flatten`:
//! operators, attrrefs, fnCall.cpp).
//!
//! ```
//! use htc_classad::{ClassAd, Context, Expr, System, flatten::{self, FlattenResult}};
//! let job = ClassAd::from([("RequestCpus", 2)]);
//! let (expr, context) = (Expr::parse("TARGET.Cpus >= RequestCpus").unwrap(), Context::new(&System).my(&job));
//! let Some(FlattenResult::Expr(rest)) = flatten::flatten(&expr, context) else { panic!() };
//! assert_eq!(rest.to_string(), "TARGET.Cpus >= 2");
//! ```

mod combine_operands;

use std::sync::Arc;

use crate::ad::{ClassAd, StoredValue, Value, push_literal};
use crate::eval::binding::{Binding, NameLookup};
use crate::eval::computed_value::{ComputedValue, EvalFailure};
use crate::eval::eval_arena::EvalArena;
use crate::eval::evaluator::{EvalScopes, Evaluator};
use crate::eval::scope::{AdRef, AdScope};
use crate::eval::{Context, operators};
use crate::syntax::expr::{Expr, ExprRepr};
use crate::syntax::tree::{
    ABSOLUTE_BASE, AdField, BinaryOp, ExprTree, NO_BASE, Node, NodeId, TreeBuilder, UnaryOp,
};

/// Result of partial evaluation.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, Value, flatten::{self, FlattenResult}};
/// let job = ClassAd::from([("RequestCpus", 2)]);
/// let flat = |text: &str| flatten::flatten(&Expr::parse(text).unwrap(), Context::new(&System).my(&job)).unwrap();
/// assert_eq!(flat("RequestCpus * 2"), FlattenResult::Value(Value::Int(4)));
/// let FlattenResult::Expr(rest) = flat("Cpus >= RequestCpus") else { panic!() };
/// assert_eq!(rest.to_string(), "Cpus >= 2");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FlattenResult {
    /// Value of the expression, if all its parts are known.
    Value(Value),
    /// Expression that remains if some parts are unknown.
    Expr(Expr),
}

/// Evaluates the parts of an expression that depend only on MY of the context. References to attributes that MY
/// lacks remain. Returns `None` if the reference implementation fails.
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

/// Flattens an expression like [`flatten`], but if an attribute's expression has unknown parts, replaces references to
/// the attribute by the flattened expression.
///
/// ```
/// use htc_classad::{ClassAd, Context, Expr, System, flatten::{self, FlattenResult}};
/// let ad: ClassAd = "[ Fits = TARGET.Cpus >= 2 ]".parse().unwrap();
/// let (expr, context) = (Expr::parse("Fits").unwrap(), Context::new(&System).my(&ad));
/// let FlattenResult::Expr(rest) = flatten::inline(&expr, context).unwrap() else { panic!() };
/// assert_eq!(rest.to_string(), "TARGET.Cpus >= 2");
/// ```
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

/// Flattened operand of an associative operator. As long as it is `Split`, its constant can still be combined with
/// the constant of the other operand.
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
    /// Adds a value as a literal. Fails for lists and ads, which the reference cannot convert to literals.
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

    /// Flattens an expression. A constant that is still separate is combined with the rest.
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

    /// Flattens one node. The function for each kind of node is not inlined, so that deep nesting needs less
    /// stack.
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
                | BinaryOp::Or => return self.flatten_associative(tree, op, left, right, at),
                _ => self.flatten_other_binary(tree, op, left, right, at),
            },
            Node::Unary(op, operand) => self.flatten_unary(tree, op, operand, at),
            Node::Ternary { condition, branches } => {
                self.flatten_conditional(tree, condition, tree.links(branches, 2), at)
            }
            Node::Name { .. } => self.flatten_reference(tree, id, NO_BASE, id, at),
            Node::Attr { base, name } => self.flatten_reference(tree, id, base, name, at),
            Node::Call { .. } => self.flatten_call(tree, id, at),
            Node::List { first, count } => self.flatten_list(tree, tree.links(first, count), at),
            Node::Ad { first, count } => self.flatten_ad(tree, first, count, at),
            _ => self.evaluator.eval(tree, id, at).map(FlatPart::Value),
        };
        part.map(FlatOperand::Whole)
    }

    /// Flattens a binary operator that is not associative, so that constants of its operands are not collected.
    #[inline(never)]
    fn flatten_other_binary(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
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
                // The reference ignores a failure to convert an operand to a literal.
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

    /// Flattens an associative operator, for which constants of both operands may be collected.
    #[inline(never)]
    fn flatten_associative(
        &mut self,
        tree: &'a Arc<ExprTree>,
        op: BinaryOp,
        left: NodeId,
        right: NodeId,
        at: EvalScopes<'a>,
    ) -> Result<FlatOperand<'a>, EvalFailure> {
        let left = self.flatten_operand(tree, left, at)?;
        let right = self.flatten_operand(tree, right, at)?;
        self.combine_operands(op, left, right)
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
        // If the first branch cannot be converted to a literal, `MakeOperation` of the reference creates a `?:`.
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
        base: NodeId,
        name: NodeId,
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
                if self.evaluator.is_at_maximum_depth() {
                    return Ok(FlatPart::Value(ComputedValue::Error));
                }
                let value = self.evaluator.with_deeper_level(|evaluator| evaluator.eval(tree, base, at))?;
                match value {
                    ComputedValue::Ad(scope) => self.evaluator.look_up(scope, wanted)?,
                    ComputedValue::Undefined => None,
                    ComputedValue::List(_) if !self.inline => None,
                    ComputedValue::List(_) => {
                        // Selecting an attribute from a list gives a list of values, which is inlined as a
                        // literal.
                        let list = self.evaluator.select_attribute(value, wanted, at)?;
                        return Ok(FlatPart::Tree(push_literal(self.builder, &list.to_value())));
                    }
                    _ => return Ok(FlatPart::Value(ComputedValue::Error)),
                }
            }
        };
        let Some((bound, scope)) = found else {
            // If the base does not have an attribute with this name, only the base is replaced.
            if self.inline
                && !matches!(base, NO_BASE | ABSOLUTE_BASE)
                && let Ok(FlatPart::Tree(base)) = self.flatten_one_level_deeper(tree, base, at)
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
                self.flatten_one_level_deeper(inner, *root, EvalScopes::from_scope(Some(scope)))?
            }
            Binding::NestedAttribute { tree: inner, id: root, .. } => {
                if matches!(inner.node(root), Node::Ad { .. }) {
                    return Ok(FlatPart::Tree(self.builder.copy_node(tree, id)));
                }
                self.flatten_one_level_deeper(inner, root, EvalScopes::from_scope(Some(scope)))?
            }
            Binding::Ad(_) => return Ok(FlatPart::Tree(self.builder.copy_node(tree, id))),
            other => FlatPart::Value(self.evaluator.eval_binding(other, scope)?),
        };
        Ok(match flat {
            FlatPart::Tree(_) if !self.inline => FlatPart::Tree(self.builder.copy_node(tree, id)),
            other => other,
        })
    }

    fn flatten_one_level_deeper(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval_world::System;
    use crate::syntax::Dialect;

    fn flatten_text(my: &str, text: &str) -> Option<String> {
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
            assert_eq!(flatten_text("[]", text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn self_reference_through_an_ad_ends_at_the_depth_of_the_reference() {
        for (my, expected) in [
            ("[y = [].y/1 > u]", Some("y")),
            ("[y = (([].y/1)) > u]", Some("y")),
            ("[y = [].y + 1]", Some("error")),
            ("[y = y + 1]", None),
        ] {
            assert_eq!(flatten_text(my, "y").as_deref(), expected, "{my}");
        }
    }
}
