/// The exit status of a command. The numbers are part of the interface and do not change.
enum CommandStatus: Int32, CaseIterable, Error {
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
        case .failed: "The request is invalid: no such record, or an invalid value."
        case .partly: "Some rows of the import were invalid and left out."
        case .notSynced: "The server could not be reached; the outbox keeps what was written."
        case .refused: "The server refuses the token, or speaks another version of the protocol."
        case .rejected: "Synced, and the journal has something new: see syncctl journal."
        case .syncedElsewhere: "Another process syncs this database, and is not done yet."
        case .different: "The compared stores, or a recording and its replay, differ."
        case .unhealthy: "A person has to decide: the mass-delete brake holds, or syncctl doctor found something."
        case .held: "Synced, but for transactions that wait until the server is upgraded: see syncctl outbox."
        case .usage: "The command line is not understood."
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
