import ArgumentParser
import Glibc
import SyncProgram

/// The command-line tool for people who manage a device.
@main struct Syncctl: AsyncParsableCommand {
    static let program = ProgramNames("syncctl")

    static let configuration = CommandConfiguration(
        commandName: "syncctl", abstract: "Read, write, sync, and repair the records of this device.",
        discussion: """
            Only sync and digest --remote need the server. status and doctor contact it unless --local is given. Results \
            go to standard output, everything else to standard error. Output has no colors if NO_COLOR is set or standard \
            output is not a terminal.

            Shell completions: syncctl --generate-completion-script bash (or zsh, fish).

            \(CommandExitStatus.table)
            """,
        version: ProgramVersion.text,
        subcommands: [
            InitCommand.self, ConfigCommand.self, RecordCommand.self, KindCommand<UserKind>.self,
            KindCommand<AvatarKind>.self,
            KindCommand<ProfileKind>.self, ImportCommand.self, SyncCommand.self, StatusCommand.self,
            SpaceCommand.self,
            InspectCommand.self, DoctorCommand.self, OutboxCommand.self, JournalCommand.self, DigestCommand.self,
            RecordingCommand.self,
            ReplayCommand.self,
            DemoCommand.self, SimulateCommand.self,
        ])

    static func main() async {
        StandardStreams.open()
        ProgramSignals.ignoreWriteSignals()
        do {
            try ProcessLimits.raiseAndRequireEnough()
            try requireReadableArguments()
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let status as CommandExitStatus {
            Glibc.exit(status.rawValue)
        } catch {
            report(error)
        }
    }

    /// Throws if an argument is not UTF-8. The parser would replace its bytes with U+FFFD, which would end up in the
    /// store.
    private static func requireReadableArguments() throws {
        for index in 0..<Int(CommandLine.argc) {
            guard let bytes = CommandLine.unsafeArgv[index], String(validatingCString: bytes) == nil else { continue }
            throw CommandError(
                .usage, "argument \(index) is not UTF-8",
                advice: "set the encoding of the terminal or the script to UTF-8")
        }
    }

    private static func report(_ error: any Error) -> Never {
        switch exitCode(for: error) {
        // Help, the version, and completions are normal output, but ArgumentParser throws them.
        case .success:
            Terminal(isJSON: false, variables: [:]).say(TerminalText(generated: fullMessage(for: error)))
            Glibc.exit(CommandExitStatus.done.rawValue)
        // The parser's message quotes the command line, so control characters must be escaped for the terminal.
        case .validationFailure:
            ProgramOutput.note("\(TerminalText(document: fullMessage(for: error)))\n")
            Glibc.exit(CommandExitStatus.usage.rawValue)
        default: break
        }
        let failure = CommandError(wrapping: error)
        let terminal = Terminal(isJSON: false, variables: [:])
        terminal.note("syncctl: \(failure.message)")
        if let advice = failure.advice { terminal.note("  \(advice)") }
        Glibc.exit(failure.status.rawValue)
    }
}
