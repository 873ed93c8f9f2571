import ArgumentParser
import Foundation
import Glibc

/// Replaces this process with `syncsim`, which is a separate program so that no fault injection is linked into this one
/// (decision 11).
struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Run the engine in a simulated world where everything fails on demand.",
        discussion: """
            syncctl simulate --seed 42                    the world of a seed
            syncctl simulate --seed 42 --report run.html  the same, with a report
            syncctl simulate --help                       all options of syncsim
            """)

    @Argument(parsing: .captureForPassthrough, help: "Arguments of syncsim.")
    var arguments: [String] = []

    func run() throws {
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = folder.appending(path: "syncsim").path(percentEncoded: false)
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw CommandError(
                .noInput, "there is no syncsim beside syncctl: \(program)",
                advice: "build it: swift build --product syncsim")
        }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // execv keeps ignored signals ignored, but syncsim should end when its reader closes the pipe.
        signal(SIGPIPE, SIG_DFL)
        // execv returns only if it fails.
        execv(program, &words)
        throw CommandError(.machine, "\(program) cannot be run: \(String(cString: strerror(errno)))")
    }
}
