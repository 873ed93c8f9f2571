import AuthorityStoreSQLite
import SyncAuthority
import SyncProgram

/// The contents of a backup that has been checked.
struct BackupReport {
    let file: String
    let bytes: Int64
    let overview: AuthorityOverview
    /// Whether a rule of the program decides about spaces, in place of members.
    let hasOwnRule: Bool

    /// Opens a copy of a server's database for reading, and looks for damage in the whole copy.
    ///
    /// - Parameter name: the name of the file in the report.
    init(checking file: String, name: String, hasOwnRule: Bool) throws(AuthorityStoreError) {
        let store = try SQLiteAuthorityStore(reading: file)
        defer { try? store.close() }
        do {
            try store.check()
            overview = try store.read { view in try AuthorityOverview(of: view) }
        } catch {
            throw error as? AuthorityStoreError ?? AuthorityStoreError(.inputOutput, "\(error)")
        }
        self.file = name
        bytes = ServerDatabase.size(of: file)
        self.hasOwnRule = hasOwnRule
    }

    /// The lines for people.
    var lines: [TerminalText] {
        let rows = OverviewText.rows(of: overview, hasOwnRule: hasOwnRule, shownSpaces: ServerStatus.shownSpaces)
        return OverviewText.aligned(rows + [("backup", "\(file): \(SizeText.text(bytes)), no damage found")])
    }
}
