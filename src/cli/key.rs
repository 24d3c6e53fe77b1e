//! `writgate key`.

use super::{Exit, Failure, Outcome, output};
use crate::credential::KeyType;
use crate::credential::issue::SigningKey;
use crate::message::target;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a signing key; prints whose it is
    New {
        /// Its type: ed25519 signs under eddsa-rdfc-2022, p256 and p384 under ecdsa-rdfc-2019
        #[arg(long = "type", value_enum, default_value_t = TypeName::Ed25519)]
        key_type: TypeName,
        /// Where to write the key, which holds a secret
        #[arg(long)]
        out: PathBuf,
        /// Whose key it is, where that is not its did:key: an IRI with a controller document
        #[arg(long, requires = "method")]
        controller: Option<String>,
        /// The IRI of its verification method in that document
        #[arg(long, requires = "controller")]
        method: Option<String>,
    },
    /// Print whose a key is
    Show {
        /// The key file
        key: PathBuf,
        /// Print the controller document instead
        #[arg(long)]
        document: bool,
    },
}

/// What the types of keys are called on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TypeName {
    Ed25519,
    P256,
    P384,
}

impl From<TypeName> for KeyType {
    fn from(name: TypeName) -> Self {
        match name {
            TypeName::Ed25519 => Self::Ed25519,
            TypeName::P256 => Self::P256,
            TypeName::P384 => Self::P384,
        }
    }
}

pub(crate) fn run(command: &Command) -> Outcome {
    match command {
        Command::New { key_type, out, controller, method } => {
            if let Some(text) = [controller, method].into_iter().flatten().find(|text| !target::is_iri(text))
            {
                return Err(Failure::new(format!("{text} is not an absolute IRI")));
            }
            let key = SigningKey::generate_of((*key_type).into())?;
            let key = match (controller, method) {
                (Some(controller), Some(method)) => key.with_controller(controller, method),
                _ => key,
            };
            write_key(out, &key)?;
            output::say(format_args!("{}", key.controller()));
        }
        Command::Show { key, document } => {
            let key = read_key(key)?;
            if *document {
                output::say(format_args!("{}", serde_json::to_string_pretty(&key.controller_document())?));
            } else {
                output::say(format_args!("{}", output::escaped(key.controller())));
            }
        }
    }
    Ok(Exit::Success)
}

/// Reads a key file.
pub(super) fn read_key(path: &Path) -> Result<SigningKey, Failure> {
    SigningKey::from_json(&output::read_json(path)?)
        .map_err(|cause| Failure::new(format!("{}: {cause}; `writgate key new` makes one", path.display())))
}

/// Writes a new key file.
pub(super) fn write_key(path: &Path, key: &SigningKey) -> Result<(), Failure> {
    write_secret(path, &serde_json::to_string_pretty(&key.to_json())?)
}

/// Writes a new file that only its owner can read. An existing key is never overwritten.
pub(super) fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(format!("{} exists, and a key is never overwritten", path.display()))
        }
        _ => Failure::new(format!("{}: {cause}", path.display())),
    })?;
    writeln!(file, "{text}")?;
    // What it signs must not outlive it, nor its name.
    file.sync_all()?;
    #[cfg(unix)]
    if let Some(folder) = std::fs::canonicalize(path)?.parent() {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}
