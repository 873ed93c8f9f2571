/// A value that a statement of the authority's store binds.
package enum StoredValue: Sendable {
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}
