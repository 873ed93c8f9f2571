/// The exit status of a command. The numbers are part of the interface and do not change.
enum CommandExitStatus: Int32, CaseIterable, Error {
    case done = 0
    case failed = 1
    case partly = 3
    case notSynced = 4
    case refused = 5
    case rejected = 6
    case syncedElsewhere = 7
    case different = 8
    case unhealthy = 9
    case held = 10
    case usage = 64
    case noInput = 66
    case noStore = 73
    case machine = 74
    case configuration = 78

    var meaning: String {
        switch self {
        case .done: "Done."
        case .failed: "The command failed: for example, a record is missing, a value is invalid, or a limit is reached."
        case .partly: "Some rows of the import were invalid and skipped; with --strict, nothing was written."
        case .notSynced: "The server cannot be reached, or not understood; the outbox keeps your changes."
        case .refused: "The server refuses the token, or speaks another version of the protocol."
        case .rejected: "Synced, with new journal entries: see syncctl journal."
        case .syncedElsewhere: "Another process is still syncing this database."
        case .different: "The compared stores, or a recording and its replay, differ."
        case .unhealthy: "Action needed: the mass-delete brake is on, or syncctl doctor found a problem."
        case .held: "Synced, except for transactions that wait for a server upgrade: see syncctl outbox."
        case .usage: "The command line is invalid."
        case .noInput: "An input file is missing or cannot be read."
        case .noStore: "The database is missing, or cannot be used as it is."
        case .machine: "The machine failed: a full disk, a busy database."
        case .configuration: "The configuration has a wrong key or value."
        }
    }

    /// The table of exit statuses for the help text.
    static var table: String {
        "EXIT STATUS\n"
            + allCases.map { status in
                let number = String(status.rawValue)
                return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
            }.joined(separator: "\n")
    }
}
