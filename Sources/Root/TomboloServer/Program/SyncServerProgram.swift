import ArgumentParser
import Foundation
import SyncAuthority
public import SyncModel
import SyncProgram
public import SyncServerRules
public import TomboloModeling

/// A whole server program for an application's models, with all commands of `syncd`.
///
///     @main struct TodoServer {
///         static func main() async {
///             await SyncServerProgram.main(models: [Todo.self, Person.self])
///         }
///     }
///
/// The name of the executable determines the names of its folder, its configuration file, and its environment
/// variables.
public enum SyncServerProgram {
    /// Runs the command that the command line names, `serve` by default. An error ends the process with a nonzero exit
    /// status.
    ///
    /// - Parameters:
    ///   - models: the models to serve, in any order, unless `--catalog` names a file.
    ///   - configure: sets the application's own rules: who holds a token, who may write what, which transactions are
    ///     valid.
    public static func main(
        models: [any Model.Type], _ configure: (inout ServerApplication) -> Void = { _ in }
    ) async {
        prepareProcess()
        let application: ServerApplication
        do throws(ModelDeclarationError) {
            application = try ServerApplication(models: models)
        } catch {
            report(ConfigurationError(error))
        }
        await run(application, configure)
    }

    /// Runs a server like ``main(models:_:)``, with the models as schemas.
    ///
    /// - Parameters:
    ///   - models: the models to serve, unless `--catalog` names a file.
    ///   - rule: returns the field rule with a name, for the models in such a file; nil for an unknown name. Defaults
    ///     to the rules of `models`.
    ///   - configure: sets the application's own rules: who holds a token, who may write what, which transactions are
    ///     valid.
    public static func main(
        models: SchemaCatalog, rule: (@Sendable (_ name: String) -> FieldRule?)? = nil,
        _ configure: (inout ServerApplication) -> Void = { _ in }
    ) async {
        prepareProcess()
        await run(ServerApplication(catalog: models, rule: rule), configure)
    }

    /// Must be called first, because `configure` may open files, and each error is reported on a standard stream.
    private static func prepareProcess() {
        StandardStreams.open()
        StandardStreams.stopWaitingForReadersOfErrors()
        ProgramSignals.ignoreWriteSignals()
    }

    private static func run(
        _ application: ServerApplication, _ configure: (inout ServerApplication) -> Void
    ) async {
        var application = application
        configure(&application)
        if let problem = application.problem { report(ConfigurationError(problem)) }
        await run(application)
    }

    private static func run(_ application: ServerApplication) async {
        do {
            try ProcessLimits.raiseAndRequireEnough()
            var command = try ServerRoot.parseAsRoot()
            if let command = command as? any ServerCommand {
                try await command.run(application)
            } else if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            report(error)
        }
    }

    private static func report(_ error: any Error) -> Never {
        // The status of a program that SIGPIPE ends, as in the pipeline `| head`.
        if let error = error as? OutputError, error.readerHasGone { Foundation.exit(ProgramOutput.brokenPipeStatus) }
        // Help and the version go to standard output. The messages of the parser quote the command line, so they are
        // escaped.
        let code = ServerRoot.exitCode(for: error)
        if code == .success {
            do throws(OutputError) {
                try ServerOutput.write(TerminalText(generated: ServerRoot.fullMessage(for: error) + "\n"))
            } catch {
                report(error)
            }
            Foundation.exit(code.rawValue)
        }
        if code == .validationFailure {
            ProgramOutput.note("\(TerminalText(document: ServerRoot.fullMessage(for: error)))\n")
            Foundation.exit(code.rawValue)
        }
        ProgramOutput.note("\(ServerOptions.program.name): \(error)\n")
        if let problem = error as? LimitTooLow {
            ProgramOutput.note("  \(problem.advice)\n")
            Foundation.exit(78)
        }
        if let failure = error as? AuthorityError, failure.isStoreDamaged { Foundation.exit(78) }
        guard let problem = error as? ConfigurationError else { Foundation.exit(1) }
        if let advice = problem.advice { ProgramOutput.note("  \(advice)\n") }
        // A service manager starts the server again after status 1, and not after 78.
        Foundation.exit(problem.mayPass ? 1 : 78)
    }
}

/// A command that needs the models and the rules of the application.
protocol ServerCommand: AsyncParsableCommand {
    func run(_ application: ServerApplication) async throws
}

/// The command line of a server program.
struct ServerRoot: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: ServerOptions.program.name, abstract: "Run the sync server.",
        discussion: """
            SIGTERM and SIGINT stop it gracefully. Exit status: 0 after a graceful stop, 1 if it could not serve or \
            write its output for a reason that may pass, 64 if the command line is invalid, 78 if the configuration, a \
            file that it names, or the data must be fixed first.
            """,
        version: ProgramVersion.text,
        subcommands: [
            ServeCommand.self, StatusCommand.self, InspectCommand.self, ClientsCommand.self, ConflictsCommand.self,
            BackupCommand.self, CompactCommand.self, MoveCommand.self, TokenCommand.self, SpaceCommand.self,
            CatalogCommand.self, EpochCommand.self, ServerConfigCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)
}

extension ConfigurationError {
    fileprivate init(_ error: ModelDeclarationError) {
        self.init("the models of this server have an error: \(error.message)")
    }
}
