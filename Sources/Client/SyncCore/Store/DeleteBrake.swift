/// The mass-delete brake: a completed snapshot that would remove more than `percent` percent of more than `records`
/// records of a space is applied only with the user's consent.
///
/// The removal of a space to which access was lost needs consent if the current server has never shown some of its
/// records.
public struct DeleteBrake: Hashable, Sendable {
    /// The brake never stops a snapshot of a space of which the device holds this many records or fewer.
    public let records: Int
    /// The largest share of the records, in percent, that may be deleted without consent.
    public let percent: Int

    /// Creates a brake. With 0 for both, each deletion needs consent.
    public init(records: Int, percent: Int) {
        self.records = records
        self.percent = percent
    }

    /// Returns whether deleting `deletes` of `total` records needs a person's consent.
    public func stops(deleting deletes: Int, of total: Int) -> Bool {
        total > records && deletes * 100 > total * percent
    }
}
