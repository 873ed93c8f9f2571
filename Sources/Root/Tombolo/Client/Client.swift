import Logging
import SyncBootstrap
import SyncConcurrency
import SyncCore
public import SyncModel
public import SyncObjects
import SyncProgram
public import TomboloModeling

/// An application's records on this device, and their sync with a server in the background.
///
/// Open a client with ``withClient(_:models:server:token:options:_:)``, or with
/// ``open(_:models:server:token:options:)`` and ``close()``. Reads and writes use the local database, and never wait
/// for a network. One process at a time syncs a database. The clients of other processes read and write it, and one of
/// them takes over the sync when that process ends.
///
/// A client reads and writes records with the members of `ModelAccess`: `create`, `object`, `query`, and `write`. Its
/// `rejections` and `merges` list the writes that the server has rejected, and the values that were lost in a merge.
///
/// A client is safe to use from any thread.
public final class Client: ModelAccess {
    /// The name with which the client was opened.
    public let name: String
    /// The live objects, one per record.
    public let objects: LiveObjects
    let parts: ClientParts
    private let background: BackgroundSync?
    private let board: StatusBoard
    private let isClosed = Guarded(false)

    private init(name: String, parts: ClientParts, background: BackgroundSync?, board: StatusBoard) {
        self.name = name
        self.parts = parts
        self.background = background
        self.board = board
        objects = parts.objects
    }

    /// Opens a client. Creates its database if that is missing, and runs the sync until ``close()``.
    ///
    /// Settings come from the arguments, then from environment variables and the configuration file, as
    /// `syncctl config show` lists them.
    ///
    /// - Parameters:
    ///   - name: The name of the application, which names its folder.
    ///   - models: The models, in any order.
    ///   - server: The URL of the server; nil for the configured URL. If none is configured, the client works alone.
    ///   - token: Returns the token for the server, or nil while the user is signed out. The client calls this closure
    ///     when its sync starts, whenever the server refuses the last token, and before the time that
    ///     ``ClientOptions/tokenExpiry`` returns. A call that exceeds ``ClientOptions/tokenTimeout`` is cancelled when
    ///     the next one begins. If the closure throws, it is called again later. If `token` is nil, the client uses the
    ///     configured token.
    ///   - options: Replaced parts and settings.
    public static func open(
        _ name: String, models: [any Model.Type], server: String? = nil,
        token: (@Sendable () async throws -> String?)? = nil, options: ClientOptions = ClientOptions()
    ) async throws(ClientError) -> Client {
        do {
            try ProcessLimits.requireEnough()
            let catalog = try ModelCatalog(models)
            var settings = try ClientSettings.resolve(name: name, server: server, options: options)
            var keeper: TokenKeeper?
            var recipes = try options.replacedRecipes(for: settings)
            let runtime = recipes.machine.runtime(settings)
            let hasServer = options.transport != nil || settings.server != nil
            if runtime.endsWaitsAtOnce, hasServer, options.sync != .off {
                throw ConfigurationError(
                    "a client cannot sync with a runtime whose waits end at once: the deadline of each request would be over before its response",
                    advice: "set options.sync to .off, or test the sync on the virtual time of a SyncTestbed")
            }
            // The composition uses the same runtime as the token keeper, which is made first.
            recipes.machine.runtime = { _ in runtime }
            if let token {
                let made = TokenKeeper(
                    provider: token, timeout: options.tokenTimeout, expiry: options.tokenExpiry, runtime: runtime)
                settings.server?.bearer = { made.use() }
                keeper = made
            }
            // A device without its token works offline, and says in its status that the token is missing.
            settings.server?.waitsForToken = true
            let logger = options.logger ?? ProgramLog.logger(label: name, level: settings.logLevel)
            let composition = ClientComposition(
                settings: settings, models: catalog, recipes: recipes, logger: logger, creatingStore: true,
                transport: options.transport)
            let parts = try ClientParts(composition, options)
            let board = StatusBoard(parts: parts, token: keeper)
            let background = parts.services.map { services in
                BackgroundSync(
                    services: services, parts: parts, token: keeper, board: board,
                    isWaiting: options.sync == .manual)
            }
            return Client(name: name, parts: parts, background: background, board: board)
        } catch let error as ModelDeclarationError {
            throw ClientError(error)
        } catch let problem as LimitTooLow {
            throw ClientError(ConfigurationError(problem.description, advice: problem.advice))
        } catch let problem as ConfigurationError {
            throw ClientError(problem)
        } catch let failure as StoreError {
            throw ClientError(failure)
        } catch {
            throw ClientError(.configuration, "\(error)")
        }
    }

    deinit {
        guard !isClosed.withLock({ $0 }) else { return }
        parts.logger.warning("A client was released without close().", metadata: ["client": "\(name)"])
        let (background, parts, board) = (background, parts, board)
        _ = parts.runtime.spawn {
            await background?.stop()
            board.finish()
            await parts.close()
        }
    }

    /// Stops the sync, and closes the database. Requests in flight get some seconds to finish. Writes that were not
    /// sent stay in the outbox, and are sent the next time. A second call returns at once.
    public func close() async {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        await background?.stop()
        board.finish()
        await parts.close()
    }

    // MARK: Sync

    /// The state of the sync now.
    public var status: ClientStatus { board.current }

    /// The state of the sync now, and after each change. Equal states are never repeated.
    public var statusUpdates: ClientStatusUpdates { board.updates }

    /// Requests a sync now, instead of at the end of a wait. In the mode ``ClientOptions/SyncMode/manual``, the first
    /// call starts the background sync. Does nothing if the client does not sync.
    public func syncNow() {
        requestSync()
    }

    /// Requests a sync, and returns the number of the request; nil if this client does not sync.
    @discardableResult func requestSync() -> Int? {
        background?.begin()
        return parts.engine?.syncNow()
    }

    /// Calls the token closure again, for example because the user has signed in. Does nothing if the client does not
    /// sync, or was opened without a closure, or if the closure itself makes the call.
    public func refreshToken() async {
        await background?.refreshToken()
    }

    /// Agrees to the deletions that the mass-delete brake holds back, because they would remove a large part of a
    /// space's records. See ``ClientStatus/Phase/blocked``.
    public func allowDeletions() {
        for space in parts.engine?.currentStatus.spaces ?? [] {
            if case .braked = space.pull { parts.engine?.allowDeletes(in: space.space) }
        }
    }

    // MARK: Spaces

    /// The spaces that this device follows, sorted by name: `default`, the spaces of `ClientOptions.spaces`, and all
    /// spaces that the device has followed or written to. `ClientStatus.spaces` tells which of them are downloaded
    /// completely.
    public var spaces: [SpaceID] {
        get throws(ModelError) {
            do throws(StoreError) { return try parts.store.followedSpaces().map(\.space) } catch {
                throw ModelError(error)
            }
        }
    }

    /// Keeps a space in sync from now on, even after a restart. Its records arrive in the background, as soon as the
    /// server can be reached.
    ///
    /// Following a space again does nothing. A write in a space also follows that space.
    public func follow(_ space: SpaceID) throws(ModelError) {
        do throws(StoreError) { try parts.store.follow(space) } catch { throw ModelError(error) }
    }

    /// Stops keeping a space in sync, and removes its records from this device. On the server, and on other devices,
    /// nothing changes.
    ///
    /// Objects of the space are then `gone`, as if their records were deleted. A space that ``ClientOptions/spaces``
    /// names is followed again by the next client that opens the database. Unfollowing a space that is not followed
    /// does nothing.
    ///
    /// - Throws: `unsentWrites`, without changing anything, in each of these cases: the server has not answered all
    ///   writes in the space; `rejections` contains writes that a restored server lost; `merges` has open entries about
    ///   the space; or, after the server's history changed or the database was repaired, the server has not shown all
    ///   records of the space again. Wait until ``ClientStatus/pending`` is zero and the space is downloaded, decide
    ///   about the rejections and the merges, and call this method again. `invalidValue` for the space `default`.
    public func unfollow(_ space: SpaceID) throws(ModelError) {
        do throws(StoreError) { _ = try parts.store.unfollow(space) } catch { throw ModelError(error) }
    }
}
