//! Writes man pages and completions into `man/` and `completions/`. Run it after changing a command line.

use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for directory in ["man", "completions"] {
        if root.join(directory).exists() {
            fs::remove_dir_all(root.join(directory))?;
        }
    }
    for (path, content) in htc_hooks::cli::generate::generated_files()? {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, content)?;
    }
    Ok(())
}
