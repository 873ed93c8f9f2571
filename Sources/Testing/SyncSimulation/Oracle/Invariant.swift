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
        case .I6: "a device reads what it wrote, and its user is told of every conflict"
        case .I7: "no version of a record or a field goes back, and none is claimed that was not seen"
        case .I8: "a cursor stands where the rows do"
        case .I9: "the feed tells every version once, in order, and the same to everyone"
        case .I10: "a transaction is in one piece everywhere"
        case .I11: "what a record needs is there"
        case .I12: "what is deleted does not come back"
        case .I13: "a uid belongs to one record"
        case .I14: "who is below the horizon begins again, and nobody else does"
        case .I15: "what a restored server has lost is sent again or offered, and much goes only with consent"
        case .I16: "a device whose disk was rolled back or copied takes a new identity, and no other does"
        case .I17: "nothing is given up but what the server has refused for a reason"
        case .I18: "after the last fault everything arrives in bounded time, without a storm"
        case .I19: "outbox, journal, WAL and messages stay within their bounds"
        case .I20: "blobs are whole"
        case .I21: "nobody sees or keeps what they may not read, and nothing takes effect with the token of another"
        case .I22: "wall clocks decide nothing but which of two edits is the later"
        case .I23: "a newer database is left alone, and unknown fields are kept"
        case .I24: "two engines on one database break none of the above"
        case .I25: "a damaged file is an error, never an empty database"
        }
    }

    /// The reason why the invariant is not checked; nil when it is.
    public var reasonNotChecked: String? {
        switch self {
        case .I20: "there are no blobs yet"
        default: nil
        }
    }
}
