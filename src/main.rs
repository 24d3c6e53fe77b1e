//! The `writgate` binary: arguments in, exit code out.

fn main() -> std::process::ExitCode {
    writgate::cli::main()
}
