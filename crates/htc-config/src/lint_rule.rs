//! Lint rules: names, severities and explanations.

use serde::{Serialize, Serializer};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LintSeverity {
    /// A daemon does not start, a transform fails or a job is lost.
    Error,
    /// The configuration has an effect that was probably not intended.
    Warning,
    /// Information; not a mistake.
    Note,
}

impl LintSeverity {
    /// Returns the word that messages use.
    pub fn word(self) -> &'static str {
        match self {
            LintSeverity::Error => "error",
            LintSeverity::Warning => "warning",
            LintSeverity::Note => "note",
        }
    }
}

/// Documentation of one rule.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RuleDescription {
    /// Name of the rule, which does not change between versions.
    pub name: &'static str,
    /// Severity of every finding of the rule.
    pub severity: LintSeverity,
    /// Mistake that the rule finds.
    pub explanation: &'static str,
    /// Example with the mistake; empty if the rule is not about a text.
    pub wrong: &'static str,
    /// Example without the mistake; empty if there is none.
    pub right: &'static str,
    /// Versions of HTCondor for which the rule was written.
    pub versions: &'static str,
}

macro_rules! lint_rules {
    ($($variant:ident $severity:ident $name:literal $explanation:literal $wrong:literal $right:literal;)*) => {
        /// Lint rule. Rules are ordered by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LintRule {
            $(#[doc = $explanation] $variant,)*
        }

        impl LintRule {
            /// All rules, by name.
            pub const ALL: &'static [LintRule] = &[$(LintRule::$variant,)*];

            /// Returns the documentation of the rule.
            pub fn description(self) -> RuleDescription {
                match self {
                    $(LintRule::$variant => RuleDescription {
                        name: $name,
                        severity: LintSeverity::$severity,
                        explanation: $explanation,
                        wrong: $wrong,
                        right: $right,
                        versions: versions(LintRule::$variant),
                    },)*
                }
            }
        }
    };
}

lint_rules! {
    AllowInvalid Warning "allow-invalid"
        "A comment 'htc: allow' has no reason, or names a rule that does not exist, so it has no effect."
        "# htc: allow unused-macro\nMY_HOUSE = 5"
        "# htc: allow unused-macro: the monitoring reads it\nMY_HOUSE = 5";
    AlwaysError Error "always-error"
        "An expression, or a part of it, is an error or undefined whatever the ads contain."
        "START = TARGET.JobStatus == \"1\""
        "START = TARGET.JobStatus == 1";
    BadExpression Error "bad-expression"
        "HTCondor evaluates this parameter as a ClassAd expression, but its value is not a valid expression."
        "START = Owner = \"ann\""
        "START = Owner == \"ann\"";
    BadValue Error "bad-value"
        "The value is not a number, boolean or word that this parameter accepts, or is out of range."
        "NUM_CPUS = four"
        "NUM_CPUS = 4";
    Block Error "block"
        "A transform opens a block of the configuration language and does not close it."
        "SET A $(B)\nB @=end\n  1"
        "B @=end\n  1\n@end\nSET A $(B)";
    CatchAllRoute Warning "catch-all-route"
        "A route takes every job that a later route would take, so the later route gets jobs only while the first is full or throttled."
        "JOB_ROUTER_ROUTE_NAMES = a, b\nJOB_ROUTER_ROUTE_a @=end\n  REQUIREMENTS true\n  UNIVERSE VANILLA\n@end\nJOB_ROUTER_ROUTE_b @=end\n  REQUIREMENTS Owner == \"ann\"\n  UNIVERSE VANILLA\n@end"
        "JOB_ROUTER_ROUTE_NAMES = b, a\nJOB_ROUTER_ROUTE_a @=end\n  REQUIREMENTS true\n  UNIVERSE VANILLA\n@end\nJOB_ROUTER_ROUTE_b @=end\n  REQUIREMENTS Owner == \"ann\"\n  UNIVERSE VANILLA\n@end";
    ChangedDefault Note "changed-default"
        "The value refers to a parameter whose default is different in the version given by --for."
        "TRANSFER_JOB_ATTRS = $(TRANSFER_JOB_ATTRS), Project"
        "TRANSFER_JOB_ATTRS = ClusterID, ProcID, NumShadowStarts, Project";
    ColonAssignment Warning "colon-assignment"
        "NAME : value is an obsolete form of an assignment. HTCondor prints a warning and assigns the value."
        "START : true"
        "START = true";
    Command Error "command"
        "A line of a route or transform is not a valid statement, so the transform fails."
        "SETT Rank 5"
        "SET Rank 5";
    CommentInValue Warning "comment-in-value"
        "A # after a value does not start a comment: the text is part of the value."
        "EXECUTE = /scratch # fast disk"
        "EXECUTE = /scratch";
    ComplexIf Warning "complex-if"
        "The condition of an if in a configuration cannot be a ClassAd expression. HTCondor cannot evaluate this one."
        "if $(A) > 5 && $(B)"
        "if $(A)";
    ConstantComparison Warning "constant-comparison"
        "A comparison has the same result whatever the ads contain."
        "PREEMPT = State == \"Claimd\""
        "PREEMPT = State == \"Claimed\"";
    ConstantCondition Warning "constant-condition"
        "A condition is a string or a number, so it is always true or never true."
        "START = \"True\""
        "START = True";
    Contradiction Warning "contradiction"
        "Two parameters contradict each other, so at least one of them does not do what it says."
        "UPDATE_INTERVAL = 600\nCLASSAD_LIFETIME = 300"
        "UPDATE_INTERVAL = 600\nCLASSAD_LIFETIME = 1500";
    CronJob Warning "cron-job"
        "A cron job never runs, or one of its parameters has a value that its manager rejects."
        "STARTD_CRON_JOBLIST = DISK\nSTARTD_CRON_DISK_EXECUTABLE = /bin/true"
        "STARTD_CRON_JOBLIST = DISK\nSTARTD_CRON_DISK_EXECUTABLE = /bin/true\nSTARTD_CRON_DISK_PERIOD = 5m";
    Dead Warning "dead"
        "A statement of a route or transform never has an effect."
        "SET A 1\nSET A 2"
        "SET A 2";
    DefinedNotNamed Warning "defined-not-named"
        "A route, transform, cron job or slot type is defined, but no list names it, so nothing uses it."
        "JOB_TRANSFORM_a = SET A 1"
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a = SET A 1";
    DiffersFromManual Note "differs-from-manual"
        "HTCondor 25.14 does something else with this setting than its manual says."
        "NUM_SLOTS = 4"
        "NUM_SLOTS = 4\nSLOT_TYPE_0_PARTITIONABLE = False";
    ElseIf Warning "else-if"
        "The configuration language has elif, not else if."
        "else if defined A"
        "elif defined A";
    Elsewhere Note "elsewhere"
        "The parameter configures a daemon that this package does not replace. Only --here reports it."
        "DAEMON_LIST = MASTER, STARTD"
        "";
    Endless Error "endless"
        "A macro refers to itself: its expansion never ends."
        "A = $(B)\nB = $(A)"
        "A = 1\nB = $(A)";
    Expression Warning "expression"
        "A value or condition in a route or transform is not a valid ClassAd expression, is always an error, or has a type that nothing reads."
        "SET Rank 5 +"
        "SET Rank 5";
    FunctionAd Warning "function-ad"
        "$INT, $REAL or $STRING reads an attribute that this transform has set to an expression. These functions do not evaluate it."
        "SET A B + 1\nN = $INT(MY.A)\nSET C $(N)"
        "SET A B + 1\nN = $EVAL(MY.A)\nSET C $(N)";
    FunctionBody Warning "function-body"
        "The body of a $FUNCTION(...) ends at the first ')', so it is cut short."
        "SET A $INT($(B))"
        "B = 5\nSET A $INT(B)";
    FunctionFails Error "function-fails"
        "A function such as $INT() cannot be expanded. Daemons exit with an error."
        "MEMORY = $INT(DETECTED_MEMORY * 0.8)"
        "MEMORY = 0.8 * $(DETECTED_MEMORY)";
    HookKnob Warning "hook-knob"
        "The name looks like that of a hook but is not one, or no caller of hooks reads it."
        "FARM_HOOK_PREPAR_JOB = /usr/libexec/prepare"
        "FARM_HOOK_PREPARE_JOB = /usr/libexec/prepare";
    HookMissing Note "hook-missing"
        "The program of a hook is not on this machine. This is not a mistake if the program is on the machines that use the configuration."
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /no/such/hook"
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /bin/true";
    HookPath Error "hook-path"
        "The value of a hook is a path. It cannot have arguments."
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /no/such/hook --fast"
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /bin/true";
    HookRefused Error "hook-refused"
        "HTCondor refuses the path of this hook and does not call it: the path is relative, or the file is missing, not executable or world-writable."
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /no/such/hook"
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /bin/true";
    If Error "if"
        "An if, elif, else or endif has no counterpart, or its condition cannot be evaluated."
        "if true\nSET A 1"
        "if true\nSET A 1\nendif";
    IgnoredText Error "ignored-text"
        "HTCondor takes the first word of a line as the name and ignores what is between it and the operator, so another name is set."
        "export NUM_CPUS = 4"
        "NUM_CPUS = 4";
    Include Warning "include"
        "The access point and the router do not run an include in a transform."
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  include : extra.rules\n@end"
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  SET A 1\n@end";
    JobAd Warning "job-ad"
        "An attribute of a fetched job is missing or has the wrong type, or no daemon reads it."
        "Cmd = /bin/true"
        "Cmd = \"/bin/true\"\nJobUniverse = 5\nOwner = \"ann\"\nIwd = \"/tmp\"";
    KeywordWithoutHooks Warning "keyword-without-hooks"
        "A hook keyword selects hooks, but none is configured for it."
        "STARTER_JOB_HOOK_KEYWORD = FARM"
        "STARTER_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_PREPARE_JOB = /usr/libexec/prepare";
    MacroName Error "macro-name"
        "The name on the left of = is not a valid macro name."
        "a-b = 1"
        "a_b = 1";
    MapLine Warning "map-line"
        "A line of a map file is skipped, or does not mean what it seems to mean."
        "SCHEDD_CLASSAD_USER_MAP_NAMES = a\nCLASSAD_USER_MAPDATA_a @=end\nbob chemistry\n@end"
        "SCHEDD_CLASSAD_USER_MAP_NAMES = a\nCLASSAD_USER_MAPDATA_a @=end\n* bob chemistry\n@end";
    MisleadingExpression Warning "misleading-expression"
        "The expression is valid but does not mean what it seems to mean."
        "START = Owner == undefined"
        "START = Owner =?= undefined";
    MissingSource Error "missing-source"
        "Daemons do not start because a file that the configuration requires cannot be read."
        "LOCAL_CONFIG_FILE = /no/such/file"
        "include ifexist : /no/such/file";
    MissingTarget Warning "missing-target"
        "An attribute is looked up in an ad that never has it: TARGET. without a TARGET ad, or an attribute of jobs in a slot."
        "SYSTEM_PERIODIC_REMOVE = TARGET.JobStatus == 5"
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5";
    MisspelledReference Warning "misspelled-reference"
        "$(NAME) refers to a name that is not set, but a similar name is set."
        "START_EXPR = true\nSTART = $(STRAT_EXPR)"
        "START_EXPR = true\nSTART = $(START_EXPR)";
    Name Warning "name"
        "The name of an attribute in a statement is not valid."
        "SET 5A 1"
        "SET A5 1";
    NameMacro Warning "name-macro"
        "A macro is used where the name of an attribute is needed."
        "SET $(UNSET) 1"
        "SET Rank 1";
    NamedNotDefined Warning "named-not-defined"
        "A list names a route, slot type, cron job or attribute that is not defined."
        "JOB_ROUTER_ROUTE_NAMES = a, b\nJOB_ROUTER_ROUTE_a = SET A 1"
        "JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a = SET A 1";
    Never Warning "never"
        "The condition is never true, so the route or transform takes no job."
        "REQUIREMENTS Prio > 5 && Prio < 3"
        "REQUIREMENTS Prio > 3";
    NeverExpanded Warning "never-expanded"
        "The text looks like $(...) or $FUNCTION(...) but is not expanded."
        "A = $(B"
        "A = $(B)";
    NeverFalse Warning "never-false"
        "No value of the attributes of a condition makes it false."
        "SYSTEM_PERIODIC_REMOVE = JobStatus != 5 || JobStatus != 2"
        "SYSTEM_PERIODIC_REMOVE = JobStatus != 5 && JobStatus != 2";
    NeverTrue Warning "never-true"
        "Two clauses of a condition exclude each other, so it is never true."
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5 && JobStatus == 2"
        "SYSTEM_PERIODIC_REMOVE = JobStatus == 5 || JobStatus == 2";
    NewName Warning "new-name"
        "The new name in a COPY or RENAME is not a valid attribute name."
        "RENAME A 5B"
        "RENAME A B5";
    NoEffect Warning "no-effect"
        "The parameter is set in a place where it has no effect."
        "PID = 3"
        "PIDFILE = 3";
    NoReplyHook Warning "no-reply-hook"
        "A hook fetches jobs, but no hook is called when the slot rejects a job: the job is lost unless the fetch hook offers it again."
        "STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = /bin/true"
        "STARTD_JOB_HOOK_KEYWORD = FARM\nFARM_HOOK_FETCH_WORK = /bin/true\nFARM_HOOK_REPLY_FETCH = /bin/true";
    NotChecked Note "not-checked"
        "Only the syntax of a very long expression was checked, not its attributes, types and outcomes."
        "A = Owner == \"ann\" ||\nB = $(A) $(A) $(A) $(A) $(A) $(A) $(A) $(A) $(A) $(A) $(A)\nC = $(B) $(B) $(B) $(B) $(B) $(B) $(B) $(B) $(B) $(B)\nSTART = $(C) $(C) $(C) $(C) $(C) $(C) $(C) $(C) $(C) $(C) $(C) False"
        "A = Owner == \"ann\" ||\nSTART = $(A) $(A) False";
    NotDone Warning "not-done"
        "The programs of this package do not support this parameter or attribute. Only --here reports it."
        "PROPORTIONAL_SWAP_ASSIGNMENT = true"
        "PROPORTIONAL_SWAP_ASSIGNMENT = false";
    NotInVersion Warning "not-in-version"
        "The version given by --for does not read this parameter: a later version introduced it."
        "LIBRARIAN_DATABASE = $(SPOOL)/jobs.db"
        "HISTORY = $(SPOOL)/history";
    NotRead Warning "not-read"
        "A file, directory or command that the configuration names was not read."
        "include command : /usr/libexec/settings"
        "include ifexist : /etc/condor/settings";
    OldStatement Warning "old-statement"
        "set_NAME, eval_set_NAME, copy_NAME and delete_NAME are statements of the old route syntax. In a route or transform they define a macro."
        "set_Rank = 5\nSET A 1"
        "SET Rank 5\nSET A 1";
    OldSyntax Warning "old-syntax"
        "Routes or transforms use a syntax that HTCondor 25 does not read."
        "JOB_ROUTER_ENTRIES = [ name = \"a\"; ]"
        "JOB_ROUTER_ROUTE_NAMES = a\nJOB_ROUTER_ROUTE_a = UNIVERSE VANILLA";
    PlusAttribute Warning "plus-attribute"
        "+Name = value and MY.Name = value belong in a submit file. A transform defines a macro with them."
        "+Project = 5"
        "SET Project 5";
    QuotedValue Error "quoted-value"
        "The quotes around a path, host or name are part of it."
        "SPOOL = \"/var/spool/condor\""
        "SPOOL = /var/spool/condor";
    Quotes Warning "quotes"
        "A string in a statement has single quotes, or a quote that is never closed."
        "SET Owner 'ann'"
        "SET Owner \"ann\"";
    Reference Warning "reference"
        "A macro reference in a route or transform cannot be expanded."
        "SET A $(B"
        "SET A $(B)";
    Regex Warning "regex"
        "A pattern is not a valid regular expression, or not in the form that the statement reads."
        "DELETE /a(/"
        "DELETE /a/";
    RelativePath Warning "relative-path"
        "A relative path depends on the directory in which a daemon runs."
        "EXECUTE = scratch"
        "EXECUTE = $(LOCAL_DIR)/scratch";
    RemovedParameter Warning "removed-parameter"
        "Earlier versions read this parameter; HTCondor 25 does not."
        "HOSTALLOW_READ = *"
        "ALLOW_READ = *";
    ReplacedList Warning "replaced-list"
        "A file adds items to a list and later sets the list without them."
        "STARTD_ATTRS = $(STARTD_ATTRS) HasLustre\nHasLustre = True\nRack = \"C03\"\nSTARTD_ATTRS = Rack"
        "STARTD_ATTRS = $(STARTD_ATTRS) HasLustre\nHasLustre = True\nRack = \"C03\"\nSTARTD_ATTRS = $(STARTD_ATTRS) Rack";
    ResourceNames Warning "resource-names"
        "The ids of a machine resource have quotes, which become a part of the ids."
        "MACHINE_RESOURCE_Licence = \"a\", \"b\""
        "MACHINE_RESOURCE_Licence = a, b";
    RestIgnored Warning "rest-ignored"
        "Nothing reads the text after a complete statement."
        "EVALSET A 1 2"
        "EVALSET A 1";
    Scope Warning "scope"
        "MY. or TARGET. refers to a different ad here than its name suggests."
        "EVALSET A TARGET.B"
        "EVALSET A B";
    ShadowedDefinition Note "shadowed-definition"
        "A later definition replaces this one before anything reads it."
        "A = 1\nA = 2"
        "A = 2";
    ShellVariable Warning "shell-variable"
        "$NAME and ${NAME} are not references and remain in the value unchanged."
        "EXECUTE = $LOCAL_DIR/execute"
        "EXECUTE = $(LOCAL_DIR)/execute";
    SlotType Error "slot-type"
        "The startd does not accept the shares of this slot type."
        "SLOT_TYPE_1 = cpu=many"
        "SLOT_TYPE_1 = cpus=2";
    Statement Warning "statement"
        "A header statement of a transform is written in a form that has no effect."
        "SET A 1\nNAME : a"
        "NAME a\nSET A 1";
    StatementAssigned Warning "statement-assigned"
        "SET = x defines a macro called SET; it is not a statement."
        "SET = A 5"
        "SET A 5";
    SuspiciousUnit Note "suspicious-unit"
        "A number is so small that a larger unit than that of its parameter or attribute was probably intended."
        "START = KeyboardIdle > 15"
        "START = KeyboardIdle > 15 * $(MINUTE)";
    Syntax Error "syntax"
        "A line is not a valid statement. Daemons do not start."
        "this is not a statement"
        "A = 1";
    TemplateMark Error "template-mark"
        "A placeholder of a template engine was not replaced."
        "CONDOR_HOST = {{ host }}"
        "CONDOR_HOST = cm.example.org";
    Trailing Warning "trailing"
        "A character directly after the name of an attribute becomes a part of the name as a NUL byte."
        "SET A= 1"
        "SET A 1";
    TrailingText Warning "trailing-text"
        "A comma, semicolon or backslash at the end is part of the value, or a backslash makes the next statement a part of it."
        "SPOOL = /var/spool/condor,"
        "SPOOL = /var/spool/condor";
    Transform Error "transform"
        "A condition of a route or transform is not a valid expression, so it does not load."
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  REQUIREMENTS Owner ==\n  SET A 1\n@end"
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  REQUIREMENTS Owner == \"ann\"\n  SET A 1\n@end";
    Trap Warning "trap"
        "The expression is valid but does not do what it seems to do."
        "REQUIREMENTS Owner == 'ann'"
        "REQUIREMENTS Owner == \"ann\"";
    Unbalanced Error "unbalanced"
        "A bracket or quote in a value is never closed."
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  SET A (1 + 2\n@end"
        "JOB_TRANSFORM_NAMES = a\nJOB_TRANSFORM_a @=end\n  SET A (1 + 2)\n@end";
    Undefined Warning "undefined"
        "$(NAME) refers to a name that nothing sets: it expands to nothing."
        "A = $(UNSET)"
        "A = $(UNSET:5)";
    UndefinedCondition Note "undefined-condition"
        "The condition of an if refers to a macro that nothing sets, so it is never true."
        "if $(IS_EXECUTE_NODE)\n  NUM_CPUS = 4\nendif"
        "IS_EXECUTE_NODE = true\nif $(IS_EXECUTE_NODE)\n  NUM_CPUS = 4\nendif";
    UnitMismatch Warning "unit-mismatch"
        "A comparison or value has a different unit than its attribute or parameter."
        "SYSTEM_PERIODIC_HOLD = ResidentSetSize > 2 * RequestMemory"
        "SYSTEM_PERIODIC_HOLD = ResidentSetSize / 1024 > 2 * RequestMemory";
    Universe Warning "universe"
        "A condition compares the universe of a job with a word, or uses an attribute that does not exist."
        "REQUIREMENTS Universe is vanilla"
        "REQUIREMENTS JobUniverse == 5";
    UnknownAttribute Warning "unknown-attribute"
        "An expression refers to an attribute that nothing sets; a similar name, a macro or true was probably intended."
        "PREEMPT = KeybordIdle < 300"
        "PREEMPT = KeyboardIdle < 300";
    UnknownParameter Warning "unknown-parameter"
        "Nothing reads this parameter; a similar name may have been intended."
        "STRT = true"
        "START = true";
    UnlistedAttribute Note "unlisted-attribute"
        "A policy of the slot uses an attribute that HTCondor does not have and that nothing in the configuration advertises."
        "START = MY.NodeIsHealthy =?= true"
        "START = MY.NodeIsHealthy =?= true\nNodeIsHealthy = true\nSTARTD_ATTRS = $(STARTD_ATTRS) NodeIsHealthy";
    UnquotedString Error "unquoted-string"
        "A string in an expression has no quotes, so it is the name of an attribute."
        "STARTD_ATTRS = Site\nSite = north pole"
        "STARTD_ATTRS = Site\nSite = \"north pole\"";
    Unused Warning "unused"
        "A macro of a route or transform is set but not used."
        "A = 1\nSET B 2"
        "A = 1\nSET B $(A)";
    UnusedMacro Warning "unused-macro"
        "Nothing uses this macro of the site: no value, script, submit file or template."
        "MY_HOUSE = 5"
        "MY_HOUSE = 5\nSTART = Owner == \"$(MY_HOUSE)\"";
    Use Error "use"
        "A transform cannot contain a use statement."
        "use ROLE : Personal"
        "SET A 1";
}

/// Language of a rule's examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleLanguage {
    /// Configuration, as `htc-config-dump lint` reads it.
    Config,
    /// Rules file, as `htc-router-translate lint` reads it.
    Rules,
    /// Body of a job transform of the access point.
    JobTransform,
    /// Job ad, as `htc-config-dump lint --ads` reads it.
    JobAd,
    /// Configuration, as `htc-config-dump lint --here` reads it.
    Here,
    /// Configuration, as `htc-config-dump lint --for 24.0` reads it.
    Version24,
    /// Configuration, as `htc-config-dump lint --no-env` reads it.
    OtherMachine,
}

/// Returns the versions to which a rule applies.
fn versions(rule: LintRule) -> &'static str {
    match rule {
        LintRule::OldSyntax => "24.10 and later",
        LintRule::DiffersFromManual => "25.14",
        LintRule::NotInVersion | LintRule::ChangedDefault => "24.0 and 25.0, with --for",
        LintRule::Elsewhere | LintRule::NotDone | LintRule::JobAd => {
            "all (about the programs of this package)"
        }
        _ => "24.0 and later",
    }
}

impl LintRule {
    /// Returns the language of the rule's examples.
    pub fn example_language(self) -> ExampleLanguage {
        use LintRule::*;
        match self {
            Block | Command | ComplexIf | Dead | ElseIf | Expression | FunctionAd | FunctionBody | If
            | MacroName | Name | NameMacro | Never | NewName | OldStatement | PlusAttribute | Quotes
            | Reference | Regex | RestIgnored | Scope | Statement | StatementAssigned | Trailing | Trap
            | Universe | Unused => ExampleLanguage::Rules,
            Use => ExampleLanguage::JobTransform,
            JobAd => ExampleLanguage::JobAd,
            Elsewhere | NotDone => ExampleLanguage::Here,
            NotInVersion | ChangedDefault => ExampleLanguage::Version24,
            HookMissing => ExampleLanguage::OtherMachine,
            _ => ExampleLanguage::Config,
        }
    }

    /// Returns the stable name of the rule.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// Returns the severity of the findings of the rule.
    pub fn severity(self) -> LintSeverity {
        self.description().severity
    }

    /// Returns the rule with this name, or `None` if no rule has it.
    pub fn from_name(name: &str) -> Option<LintRule> {
        LintRule::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

impl std::fmt::Display for LintRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for LintRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_sorted_and_found() {
        let names: Vec<_> = LintRule::ALL.iter().map(|rule| rule.name()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for rule in LintRule::ALL {
            assert_eq!(LintRule::from_name(rule.name()), Some(*rule));
            assert!(rule.description().explanation.ends_with('.'), "{rule}");
        }
    }
}
