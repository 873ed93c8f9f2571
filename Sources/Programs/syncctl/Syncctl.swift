import ArgumentParser
import Glibc
import SyncProgram

/// The command line for people who look after a device.
@main struct Syncctl: AsyncParsableCommand {
    static let program = Program("syncctl")

    static let configuration = CommandConfiguration(
        commandName: "syncctl", abstract: "Read, write, sync, and repair the records of this device.",
        discussion: """
            All commands except sync work offline. Results go to standard output, everything else to standard error. \
            Output has no colors if NO_COLOR is set or standard output is not a terminal.

            Shell completions: syncctl --generate-completion-script bash (or zsh, fish).

            \(CommandStatus.table)
            """,
        version: ProgramVersion.text,
        subcommands: [
            InitCommand.self, ConfigCommand.self, RecordCommand.self, KindCommand<UserKind>.self,
            KindCommand<AvatarKind>.self,
            KindCommand<ProfileKind>.self, ImportCommand.self, SyncCommand.self, StatusCommand.self,
            DoctorCommand.self, OutboxCommand.self, JournalCommand.self, DigestCommand.self, RecordingCommand.self,
            ReplayCommand.self,
            DemoCommand.self, SimulateCommand.self,
        ])

    static func main() async {
        // A reader that goes away ends a write with an error, not this process with a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            try OpenFiles.demandEnough()
            try demandReadableArguments()
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let status as CommandStatus {
            Glibc.exit(status.rawValue)
        } catch {
            report(error)
        }
    }

    /// Refuses arguments that are not UTF-8: the parser would be given U+FFFD in the place of their bytes, and the store with it.
    private static func demandReadableArguments() throws {
        for index in 0..<Int(CommandLine.argc) {
            guard let bytes = CommandLine.unsafeArgv[index], String(validatingCString: bytes) == nil else { continue }
            throw CommandFailure(
                .usage, "argument \(index) is not UTF-8",
                advice: "set the encoding of the terminal or the script to UTF-8")
        }
    }

    private static func report(_ error: any Error) -> Never {
        switch exitCode(for: error) {
        // Help, the version and completions are answers, and come as errors.
        case .success: exit(withError: error)
        // The parser writes for people, and quotes the command line.
        case .validationFailure:
            ProgramOutput.note("\(TerminalText(document: fullMessage(for: error)))\n")
            Glibc.exit(CommandStatus.usage.rawValue)
        default: break
        }
        let failure = CommandFailure(wrapping: error)
        let terminal = Terminal(isJSON: false, variables: [:])
        terminal.note("syncctl: \(failure.message)")
        if let advice = failure.advice { terminal.note("  \(advice)") }
        Glibc.exit(failure.status.rawValue)
    }
}
