import Foundation
public import Logging
public import SyncBootstrap
public import SyncCore
import SyncProgram

/// The parts and settings of a client that a program can replace, each by an assignment.
///
/// ```swift
/// var options = ClientOptions()
/// options.folder = "/var/lib/todo"
/// options.reachability = myReachability
/// let client = try await Client.open("todo", models: [Todo.self], options: options)
/// ```
///
/// The defaults are the real parts. Fakes come from the test kit, which no program links.
public struct ClientOptions: Sendable {
    /// The folder of the database; nil for the one that the configuration names, or `~/.local/share/NAME`.
    public var folder: String?

    /// Whether the client syncs in the background when it has a server. Without it, writes stay on the device until a
    /// client that syncs opens the same database.
    public var syncs = true

    /// Whether SIGTERM and SIGINT end the background sync gracefully.
    public var handlesSignals = false

    /// The longest time that one call of the token closure may take.
    public var tokenTimeout = Duration.seconds(30)

    /// The way to the server; nil for HTTP to the server's URL. A client with a transport needs no URL.
    public var transport: (any RemoteTransport)?

    /// The watch over links and routes; nil for that of this machine.
    public var reachability: (any Reachability)?

    /// The clocks, the random source, and the executors; nil for those of this machine.
    public var runtime: EngineRuntime?

    /// The logger; nil for one that writes to standard error at the configured level.
    public var logger: Logger?

    /// How each remaining part is made, such as the local store; nil for the recipes that the environment picks. To replace
    /// one, begin with `ClientRecipes.live`.
    public var recipes: ClientRecipes?

    /// The environment variables. Defaults to those of the process.
    public var variables: [String: String]

    public init() {
        variables = ProcessInfo.processInfo.environment
    }

    /// The recipes with all replaced parts.
    func replacedRecipes(for settings: ClientSettings) throws(ConfigurationError) -> ClientRecipes {
        var recipes: ClientRecipes
        if let given = self.recipes { recipes = given } else { recipes = try .picked(by: settings.environment) }
        if let runtime { recipes.machine.runtime = { _ in runtime } }
        if let reachability { recipes.machine.reachability = { _ in reachability } }
        return recipes
    }
}
