import Foundation
import SyncCore
import SyncModel
import SyncObjects
import SyncStoreSQLite
import TomboloCommunity
import TomboloModeling

/// A folder of its own that goes with the test.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        // In memory where there is a file system for it: the disk's speed is not what is tested.
        let root = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        var template = Array("\(root)/tombolo-models-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw StoreFailure(.inputOutput, "mkdtemp failed") }
        path = String(cString: made)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            print("\(path) was not removed: \(error)")
        }
    }

    func open(
        _ runtime: EngineRuntime, catalog: SchemaCatalog = CommunityCatalog.catalog
    ) throws(StoreFailure) -> SQLiteStore {
        var random = runtime.generator
        return try SQLiteStore.open(
            StoreConfiguration(file: path + "/cache.sqlite"), catalog: catalog, now: runtime.now(), random: &random)
    }
}
