/// A notice that a value written by a device lost to another device's edit or deletion.
///
/// The server keeps the notice for the client that wrote the value, and delivers it with a pull. The values that a push
/// itself loses are reported in the outcome of the push instead.
public struct ConflictNotice: Hashable, Sendable {
    /// A number that grows within a space. A device requests the notices after the last number that it has.
    public let number: Int64
    /// The version of the commit with the winning edit or deletion.
    public let version: Version
    /// The conflict, whose loser is the value that the device wrote.
    public let conflict: FieldConflict
    /// Tells the notice from another one that a restored server has given the same number; nil if the server sends
    /// none.
    public let fingerprint: NoticeFingerprint?

    /// Creates a notice. The server assigns the number and the fingerprint.
    public init(number: Int64, version: Version, conflict: FieldConflict, fingerprint: NoticeFingerprint? = nil) {
        self.number = number
        self.version = version
        self.conflict = conflict
        self.fingerprint = fingerprint
    }
}

/// The fingerprint of the conflict that a notice reports.
///
/// A push whose edits all lose makes no commit. A server that was restored to a state before it has lost its conflicts
/// but no version, and gives their numbers to others.
public struct NoticeFingerprint: Hashable, Sendable {
    /// A hash that the server has made of the conflict. A client stores it, and sends it back.
    public let bits: Identifier128

    /// Wraps a fingerprint that was received or stored.
    public init(bits: Identifier128) {
        self.bits = bits
    }
}

/// The conflict notices that a device requests with a page.
public struct NoticeRequest: Hashable, Sendable {
    /// The client id of the device, and its former client ids, at most `SchemaLimits.formerClients` of them.
    public let clients: [ClientID]
    /// Only notices with greater numbers are returned.
    public let after: Int64
    /// The fingerprint of the notice with the number `after`. If the server has another notice or none under this
    /// number, it begins at the first one. If nil, the server relies on the number.
    public let fingerprint: NoticeFingerprint?

    /// Creates a request for the notices of these clients. With `after` 0, it begins at the first one.
    public init(clients: [ClientID], after: Int64, fingerprint: NoticeFingerprint? = nil) {
        self.clients = clients
        self.after = after
        self.fingerprint = fingerprint
    }
}
