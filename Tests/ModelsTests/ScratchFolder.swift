import Foundation
import SyncCore
import SyncModel
import SyncObjects
import SyncStoreSQLite
import TomboloCommunity
import TomboloModeling

/// A temporary folder that is deleted at the end of the test.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        // The folder is in memory if possible, so that the tests do not depend on the speed of the disk.
        let root = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
        var template = Array("\(root)/tombolo-models-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw StoreError(.inputOutput, "mkdtemp failed") }
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
    ) throws(StoreError) -> SQLiteStore {
        var random = runtime.generator
        return try SQLiteStore.open(
            StoreConfiguration(file: path + "/cache.sqlite"), catalog: catalog, now: runtime.now(), random: &random)
    }
}
