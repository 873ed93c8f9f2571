/// The limits of the wire format.
package enum WireLimits {
    /// Maximum length of a short text in bytes: a cursor, an epoch, an account, a code, a reason, a request id, or the
    /// name of a rule. A client stores most of them unchanged.
    static let opaqueBytes = 1_024
    /// Maximum length of the message of a rejection or an error, in bytes. A journal stores it.
    static let messageBytes = 16 * 1_024
    /// Maximum number of columns in a page, of known and unknown fields in a record, and of fields in a rejection: far
    /// more than a schema may have (`SchemaLimits.fields`).
    static let columns = 1_024
}
