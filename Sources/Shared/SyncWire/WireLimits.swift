/// The limits of the wire format.
package enum WireLimits {
    /// Maximum length of a cursor, an epoch, an account, a code, or a request id, in bytes. A client stores these
    /// values unchanged.
    static let opaqueBytes = 1_024
    /// Maximum length of the message of a rejection or an error, in bytes. A journal stores it.
    static let messageBytes = 16 * 1_024
    /// Maximum number of columns in a page, of known and unknown fields in a record, and of fields in a rejection: far
    /// more than a schema may have (`SchemaLimits.fields`).
    static let columns = 1_024
}
