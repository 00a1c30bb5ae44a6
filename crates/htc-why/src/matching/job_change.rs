//! Changes to a job that may make slots accept it.

use std::fmt;

use htc_classad::{AttrName, ClassAd, Expr};
use serde::{Serialize, Serializer};

use super::clauses::{ClauseSide, mentioned_references, split_requirements};
use super::value_summary::expr_text;

/// Change to a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum JobChange {
    /// Sets an attribute to a value.
    Set {
        /// Name of the attribute.
        #[serde(serialize_with = "serialize_name")]
        name: AttrName,
        /// Former expression of the attribute, or `None` if it did not exist.
        #[serde(serialize_with = "serialize_optional_expr")]
        from: Option<Expr>,
        /// New value of the attribute.
        #[serde(serialize_with = "serialize_expr")]
        to: Expr,
    },
    /// Sets an attribute that must be defined, with any value.
    #[serde(rename = "set")]
    Define {
        /// Name of the attribute.
        #[serde(serialize_with = "serialize_name")]
        name: AttrName,
        /// Former expression of the attribute, or `None` if it did not exist.
        #[serde(serialize_with = "serialize_optional_expr")]
        from: Option<Expr>,
        /// An example of a value.
        #[serde(serialize_with = "serialize_expr")]
        to: Expr,
    },
    /// Removes an attribute.
    Remove {
        /// Name of the attribute.
        #[serde(serialize_with = "serialize_name")]
        name: AttrName,
    },
    /// Removes a clause of the job's Requirements.
    DropClause {
        /// The clause to remove.
        #[serde(serialize_with = "serialize_expr")]
        clause: Expr,
    },
    /// Replaces a clause of the job's Requirements.
    ReplaceClause {
        /// The clause to replace.
        #[serde(serialize_with = "serialize_expr")]
        clause: Expr,
        /// The new clause.
        #[serde(serialize_with = "serialize_expr")]
        with: Expr,
    },
}

fn serialize_name<S: Serializer>(name: &AttrName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

fn serialize_expr<S: Serializer>(expr: &Expr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&expr.unparse_old())
}

fn serialize_optional_expr<S: Serializer>(expr: &Option<Expr>, serializer: S) -> Result<S::Ok, S::Error> {
    match expr {
        Some(expr) => serialize_expr(expr, serializer),
        None => serializer.serialize_none(),
    }
}

impl JobChange {
    /// Applies the change to a job.
    pub fn apply(&self, job: &mut ClassAd) {
        match self {
            JobChange::Set { name, to, .. } | JobChange::Define { name, to, .. } => {
                job.insert(name, to.clone());
            }
            JobChange::Remove { name } => drop(job.remove(name)),
            JobChange::DropClause { clause } => replace_clause(job, clause, None),
            JobChange::ReplaceClause { clause, with } => replace_clause(job, clause, Some(with)),
        }
    }

    /// True if the change makes the job transfer its files.
    fn sets_file_transfer(&self) -> bool {
        matches!(self, JobChange::Set { name, .. } if *name == "ShouldTransferFiles")
    }

    /// True if the change concerns a clause about a shared file system.
    fn is_about_shared_files(&self) -> bool {
        match self {
            JobChange::DropClause { clause } | JobChange::ReplaceClause { clause, .. } => {
                mentioned_references(clause).iter().any(|reference| reference.name == "FileSystemDomain")
            }
            JobChange::Set { .. } | JobChange::Define { .. } | JobChange::Remove { .. } => false,
        }
    }

    /// Returns the change with another value if its value does not matter, and the same change otherwise.
    pub(super) fn with_value(&self, value: &Expr) -> Self {
        match self {
            JobChange::Define { name, from, .. } => {
                JobChange::Define { name: name.clone(), from: from.clone(), to: value.clone() }
            }
            other => other.clone(),
        }
    }

    /// Returns the attribute that the change sets, or `None`.
    pub(super) fn attribute(&self) -> Option<&AttrName> {
        match self {
            JobChange::Set { name, .. } | JobChange::Define { name, .. } | JobChange::Remove { name } => {
                Some(name)
            }
            JobChange::DropClause { .. } | JobChange::ReplaceClause { .. } => None,
        }
    }
}

/// Replaces a clause wherever it is in the job's Requirements.
fn replace_clause(job: &mut ClassAd, clause: &Expr, replacement: Option<&Expr>) {
    let clauses =
        split_requirements(job, ClauseSide::Job, false, &|_, _| false).into_iter().map(|clause| clause.expr);
    let kept = clauses.filter_map(|expr| if expr == *clause { replacement.cloned() } else { Some(expr) });
    let joined = kept.reduce(|all, next| all.and(&next));
    job.insert("Requirements", joined.unwrap_or_else(|| Expr::literal(true)));
}

impl fmt::Display for JobChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobChange::Set { name, from: Some(from), to } => {
                write!(f, "{name} {} instead of {}", expr_text(to), expr_text(from))
            }
            JobChange::Set { name, from: None, to } => write!(f, "with {name} = {}", expr_text(to)),
            JobChange::Define { name, .. } => write!(f, "with {name} set (to any value)"),
            JobChange::Remove { name } => write!(f, "without {name}"),
            JobChange::DropClause { clause } if clause.as_literal().is_some() => {
                write!(f, "without {} in Requirements", expr_text(clause))
            }
            JobChange::DropClause { clause } => write!(f, "without {}", expr_text(clause)),
            JobChange::ReplaceClause { clause, with } => {
                write!(f, "{} instead of {}", expr_text(with), expr_text(clause))
            }
        }
    }
}

/// Change to a job that makes more slots accept it, verified by evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The changes; all are needed.
    pub changes: Vec<JobChange>,
    /// Number of slots that accept the changed job and refuse the current one.
    pub slots_won: usize,
    /// Number of slots that refuse the changed job and accept the current one.
    pub slots_lost: usize,
    /// Noun for a slot in messages, such as `slot` or `route`.
    #[serde(skip)]
    pub slot_name: &'static str,
}

impl Suggestion {
    /// Applies the changes to a job.
    pub fn apply(&self, job: &mut ClassAd) {
        self.changes.iter().for_each(|change| change.apply(job));
    }

    /// Returns each change in words. The changes for file transfer are one command of a submit description.
    fn describe_changes(&self) -> Vec<String> {
        let transfers = self.changes.iter().any(JobChange::sets_file_transfer);
        let is_part = |change: &&JobChange| !(transfers && change.is_about_shared_files());
        let word = |change: &JobChange| match change.sets_file_transfer() {
            true => "should_transfer_files = YES".to_owned(),
            false => change.to_string(),
        };
        self.changes.iter().filter(is_part).map(word).collect()
    }
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.describe_changes();
        match words.split_last() {
            Some((last, [])) => f.write_str(last)?,
            Some((last, before)) => write!(f, "{} and {last}", before.join(", "))?,
            None => {}
        }
        let plural = if self.slots_won == 1 { "" } else { "s" };
        write!(f, ": {} more {}{plural}", self.slots_won, self.slot_name)?;
        match self.slots_lost {
            0 => Ok(()),
            lost => write!(f, ", {lost} fewer"),
        }
    }
}
