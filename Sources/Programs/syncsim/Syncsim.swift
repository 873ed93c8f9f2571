import ArgumentParser
import Foundation
import Glibc
import SyncRuntimeLive
import SyncSimulation

/// The simulator: runs worlds of devices, a server, and faults, each determined by a seed.
@main struct Syncsim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncsim", abstract: "Run the engine in simulated worlds where everything fails on demand.",
        discussion: """
            A seed, or a script that a failing seed was reduced to, determines a world: it is the same on every machine \
            with the same sources, in debug and release builds.

            Exit status: 0 if every promise was kept, 1 if one was broken, 64 if the command line is invalid, 66 if a \
            script cannot be read or the world to shrink keeps every promise, 74 if a file cannot be written.
            """,
        subcommands: [
            RunCommand.self, ShrinkCommand.self, SoakCommand.self, CrashCommand.self, ExploreCommand.self,
            BugsCommand.self,
        ],
        defaultSubcommand: RunCommand.self)

    static func main() {
        // A limit on the size of files is an error with a message, and does not end the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let failure as ProgramError {
            Output.note("syncsim: \(failure.message)")
            Foundation.exit(failure.status)
        } catch {
            guard exitCode(for: error) == .success else { exit(withError: error) }
            // Help is normal output, but ArgumentParser throws it.
            Output.write(fullMessage(for: error))
            Foundation.exit(0)
        }
    }
}

/// An error that ends the program with a message and an exit status.
struct ProgramError: Error, CustomStringConvertible {
    let message: String
    let status: Int32

    var description: String { message }

    static let propertyViolation: Int32 = 1
    static let noInput: Int32 = 66
    static let machine: Int32 = 74
}

enum Output {
    /// Prints a line of the result. If it cannot be written, the process exits.
    static func write(_ text: String) {
        guard let code = ByteSink.standardOutput.write(text + "\n") else { return }
        if code == EPIPE { Foundation.exit(ByteSink.brokenPipeStatus) }
        note("syncsim: the output cannot be written: \(String(cString: strerror(code)))")
        Foundation.exit(ProgramError.machine)
    }

    /// Prints a line on standard error: progress, and failures.
    static func note(_ text: String) {
        ByteSink.standardError.write(text + "\n")
    }
}
