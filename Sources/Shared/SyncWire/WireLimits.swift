/// The limits of the wire format.
package enum WireLimits {
    /// How deep the value of a JSON field may lie: with the deepest message around it, it stays within the depth that
    /// every reader takes (`JSONLimits.depth`).
    static let jsonFieldDepth = 32
    /// The longest cursor, epoch and account, in bytes: a client stores them as they come.
    static let opaqueBytes = 1_024
    /// The longest text of a rejection or an error, in bytes: a journal keeps it.
    static let messageBytes = 16 * 1_024
    /// The columns of a page and the fields of a record, known and unknown: far more than a schema may have
    /// (`SchemaLimits.fields`).
    static let columns = 1_024
}
