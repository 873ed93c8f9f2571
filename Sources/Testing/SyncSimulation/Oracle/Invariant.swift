/// The invariants that worlds are checked for.
public enum Invariant: String, Hashable, Sendable, CaseIterable {
    case I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, I13, I14, I15, I16, I17, I18, I19, I20, I21, I22, I23, I24,
        I25

    /// The invariant in a few words.
    public var promise: String {
        switch self {
        case .I1: "a committed write is in the outbox, on the server or in the journal"
        case .I2: "a transaction takes effect once"
        case .I3: "transactions arrive in the order in which they were written"
        case .I4: "at rest every replica holds what the server holds"
        case .I5: "at every step a replica holds what the naive model says"
        case .I6: "a device reads its own writes, and reports every conflict to its user"
        case .I7:
            "the version of a record or a field never decreases, and a device claims only versions that it has seen"
        case .I8: "a cursor matches the rows that are stored with it"
        case .I9: "the change feed contains every version once, in order, and is the same for every reader"
        case .I10: "a transaction is applied as a whole or not at all, everywhere"
        case .I11: "every required reference has its record"
        case .I12: "a deleted record does not come back"
        case .I13: "a uid belongs to one record"
        case .I14:
            "a device downloads a full snapshot only if it has no cursor that the server can continue after, and always if its cursor is below the horizon"
        case .I15:
            "data that a restored server has lost is sent again or offered in the journal, and large deletions need consent"
        case .I16: "a device whose disk was rolled back or copied takes a new identity, and no other does"
        case .I17: "a transaction is given up only if the server has refused it with a reason"
        case .I18: "after the last fault everything arrives in bounded time, without a storm"
        case .I19: "outbox, journal, WAL and messages stay within their bounds"
        case .I20: "blobs are whole"
        case .I21: "nobody sees or keeps what they may not read, and nothing takes effect with the token of another"
        case .I22: "wall clocks decide only which of two edits is the later one"
        case .I23: "a database of a newer build is not changed, and unknown fields are kept"
        case .I24: "two engines on one database break none of the above"
        case .I25: "a damaged file is an error, never an empty database"
        }
    }

    /// The reason why the invariant is not checked; nil when it is checked.
    public var reasonNotChecked: String? {
        switch self {
        case .I20: "there are no blobs yet"
        default: nil
        }
    }
}
