/// A file of the shared material beside the repository; where there is none, says so.
pub(crate) fn shared(path: &str) -> Option<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(_) => {
            println!("skipped: no {}", path.display());
            None
        }
    }
}
