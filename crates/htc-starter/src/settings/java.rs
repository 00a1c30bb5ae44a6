//! Parameters of Java, and the virtual machine that they name (`java_config.cpp`).

use bstr::{BString, ByteSlice};

use crate::container::{ToolAccount, ToolCall};
use htc_base::text::{arguments, list};
use htc_base::world::World;
use htc_config::{ConfigView, ValueError};

/// Parameters of Java. An empty value is treated as not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JavaParameters {
    /// Value of JAVA.
    pub program: Option<BString>,
    /// Value of JAVA_CLASSPATH_ARGUMENT.
    pub argument: Option<BString>,
    /// JAVA_CLASSPATH_SEPARATOR; only its first character is used.
    pub separator: Option<BString>,
    /// Value of JAVA_CLASSPATH_DEFAULT.
    pub class_path: Option<BString>,
    /// Value of JAVA_EXTRA_ARGUMENTS.
    pub extra: Option<BString>,
}

impl JavaParameters {
    /// Reads the parameters.
    ///
    /// # Errors
    /// Returns an error if a macro expands without end.
    pub fn read(view: &ConfigView<'_>) -> Result<Self, ValueError> {
        let text = |name: &str| {
            Ok::<_, ValueError>(view.string(name)?.map(|set| set.value).filter(|text| !text.is_empty()))
        };
        Ok(JavaParameters {
            program: text("JAVA")?,
            argument: text("JAVA_CLASSPATH_ARGUMENT")?,
            separator: text("JAVA_CLASSPATH_SEPARATOR")?,
            class_path: text("JAVA_CLASSPATH_DEFAULT")?,
            extra: text("JAVA_EXTRA_ARGUMENTS")?,
        })
    }

    /// Returns the call that prints the properties of the virtual machine (`java_detect`), or `None` if there is no
    /// valid command line.
    pub fn probe_command(&self) -> Option<ToolCall> {
        let line = self.command_line(&[]).ok()??;
        Some(ToolCall::new(&line, ["CondorJavaInfo", "old"], ToolAccount::Starter))
    }

    /// Returns true if JAVA is set and a directory of the class path has the class that prints the
    /// properties.
    pub fn has_probe_class(&self, world: &dyn World) -> bool {
        let default = self.class_path.as_ref().map_or(b".".as_bstr(), |text| text.as_bstr());
        let mut directories = list::split(default).map(|directory| directory.to_path_lossy().into_owned());
        self.program.is_some()
            && directories.any(|directory| world.stat(&directory.join("CondorJavaInfo.class")).is_ok())
    }

    /// Returns the virtual machine with its class path and JAVA_EXTRA_ARGUMENTS (`java_config`), or `None` if
    /// JAVA is not set.
    ///
    /// # Errors
    /// Returns an error if the extra arguments are invalid.
    pub fn command_line(&self, jars: &[BString]) -> Result<Option<Vec<BString>>, arguments::ArgumentError> {
        let Some(program) = self.program.clone() else { return Ok(None) };
        let mut line = vec![program];
        line.push(self.argument.clone().unwrap_or_else(|| "-classpath".into()));
        let separator = self.separator.as_ref().map_or(b':', |text| text[0]);
        let default = self.class_path.as_ref().map_or(b".".as_bstr(), |text| text.as_bstr());
        let words = list::split(default).map(BString::from).chain(jars.iter().cloned());
        line.push(bstr::join([separator], words).into());
        let extra = self.extra.as_ref().map(|text| arguments::parse_v1_raw_or_v2_quoted(text));
        line.extend(extra.transpose()?.unwrap_or_default());
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_path_uses_one_separator_character_and_has_a_dot() {
        let parameters =
            JavaParameters { program: Some("/usr/bin/java".into()), ..JavaParameters::default() };
        let line = |parameters: &JavaParameters| parameters.command_line(&["a.jar".into()]).unwrap().unwrap();
        assert_eq!(line(&parameters), ["/usr/bin/java", "-classpath", ".:a.jar"]);
        let parameters = JavaParameters {
            argument: Some("-cp".into()),
            separator: Some("; ".into()),
            class_path: Some("/one, /two".into()),
            extra: Some("\"-Xa '-Db=c d'\"".into()),
            ..parameters
        };
        assert_eq!(line(&parameters), ["/usr/bin/java", "-cp", "/one;/two;a.jar", "-Xa", "-Db=c d"]);
        assert!(JavaParameters { extra: Some("\"x".into()), ..parameters }.command_line(&[]).is_err());
        assert!(JavaParameters::default().command_line(&[]).unwrap().is_none());
    }
}
