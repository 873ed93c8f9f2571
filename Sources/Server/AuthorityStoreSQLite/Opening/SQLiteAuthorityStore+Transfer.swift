package import AuthorityStoreSQL
import SyncAuthority

extension SQLiteAuthorityStore: TransferableStore {
    package func transfer<Result: Sendable>(_ body: (any TransferSession) throws -> Result) throws -> Result {
        try AuthorityStoreError.converting("copy the database") {
            try SQLiteSession.writeDirectly(on: writer) { try body($0) }
        }
    }
}
