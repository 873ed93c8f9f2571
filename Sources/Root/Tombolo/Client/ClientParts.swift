import Logging
import SyncBootstrap
import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects

/// The parts of an open client, made by its composition.
struct ClientParts: Sendable {
    let settings: ClientSettings
    let runtime: EngineRuntime
    let logger: Logger
    let objects: LiveObjects
    let store: any LocalStore
    /// Nil when the client does not sync.
    let engine: SyncEngine?
    let services: ClientServices?
    /// Whether a server is configured, even if this client does not sync.
    let hasServer: Bool
    let lease: @Sendable () throws(StoreError) -> LeaseAttempt
    let close: @Sendable () async -> Void

    init(_ composition: ClientComposition, _ options: ClientOptions) throws {
        settings = composition.settings
        runtime = composition.runtime
        logger = composition.logger
        store = try composition.store
        do {
            objects = try composition.objects
            try composition.follow(options.spaces)
            hasServer = composition.hasServer
            if options.sync != .off, composition.hasServer {
                services = try composition.services(
                    handlesSignals: options.handlesSignals,
                    // The client itself watches the writes of other processes, even while another process syncs.
                    watch: { () throws(StoreError) in {} })
                engine = try composition.engine
            } else {
                services = nil
                engine = nil
            }
            let endWatch = try composition.watchOtherProcesses()
            let closing = composition.closing
            close = { [objects] in
                // First, so that no sequence reads a store that is being closed.
                objects.end()
                endWatch()
                await closing()
            }
        } catch {
            composition.closeStore()
            throw error
        }
        lease = composition.leasing
    }
}
