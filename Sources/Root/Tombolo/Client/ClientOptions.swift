public import Foundation
public import Logging
public import SyncBootstrap
public import SyncCore
public import SyncModel
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
/// The defaults are the real parts. Fakes come from the test kit, which only tests link.
public struct ClientOptions: Sendable {
    /// The folder of the database; nil for the one that the configuration names, or `~/.local/share/NAME`.
    public var folder: String?

    /// When the client syncs, if it has a server.
    public var sync = SyncMode.automatic

    /// The spaces to follow each time the client opens, in addition to `default` and the spaces that the device follows
    /// already. For spaces that a person chooses, use ``Client/follow(_:)`` instead. A space that the account may not
    /// read stays empty.
    public var spaces: [SpaceID] = [.default]

    /// Whether SIGTERM and SIGINT end the background sync gracefully.
    ///
    /// With `true`, the program has to end by itself: from the opening of the client on, the signals no longer end the
    /// process, even after the client is closed. Wait until the phase of the status is `stopped`.
    public var handlesSignals = false

    /// The longest time to wait for one call of the token closure. A result that arrives later is still used.
    public var tokenTimeout = Duration.seconds(30)

    /// Returns the time at which a token expires; nil if the time is not known.
    ///
    /// The client calls the token closure 30 seconds before this time, so that no request is refused. If the time is
    /// not known, it calls the closure when the server refuses the token. Renewals are at least 5 seconds apart, even
    /// if each token expires at once.
    public var tokenExpiry: (@Sendable (_ token: String) -> Date?)?

    /// The transport to the server; nil for HTTP to the server's URL. A client with a transport needs no URL.
    public var transport: (any RemoteTransport)?

    /// The watch over network links and routes; nil for the watch of this machine.
    public var reachability: (any Reachability)?

    /// The clocks, the random source, and the executors; nil for the system's. A runtime whose waits end at once, such
    /// as the test kit's `.mock()`, is for clients with ``SyncMode/off`` or without a server.
    public var runtime: EngineRuntime?

    /// The logger; nil for one that writes to standard error at the configured level.
    public var logger: Logger?

    /// The functions that create the remaining parts, such as the local store; nil for the recipes that the environment
    /// selects. To replace a part, begin with `ClientRecipes.live`.
    public var recipes: ClientRecipes?

    /// The environment variables from which settings are read. Defaults to the variables of the process.
    public var variables: [String: String]

    /// When a client syncs.
    public enum SyncMode: String, Hashable, Sendable, CaseIterable {
        /// In the background, from the opening of the client on.
        case automatic
        /// In the background, from the first call of ``Client/syncNow()`` on. Until then, nothing leaves the device.
        case manual
        /// Never. Writes stay on the device until a client that syncs opens the same database.
        case off
    }

    /// Creates options with the real parts and the environment variables of the process.
    public init() {
        variables = ProcessInfo.processInfo.environment
    }

    /// Returns the recipes with all replaced parts.
    func replacedRecipes(for settings: ClientSettings) throws(ConfigurationError) -> ClientRecipes {
        var recipes: ClientRecipes
        if let given = self.recipes { recipes = given } else { recipes = try .picked(by: settings.environment) }
        if let runtime { recipes.machine.runtime = { _ in runtime } }
        if let reachability { recipes.machine.reachability = { _ in reachability } }
        return recipes
    }
}
