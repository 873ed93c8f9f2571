/// A value that a statement of the authority's store binds.
package enum StoredValue: Hashable, Sendable {
    case integer(Int64)
    case text(String)
    /// A text as its bytes in UTF-8.
    case utf8([UInt8])
    case blob([UInt8])
}
