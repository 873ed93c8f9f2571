package import SyncModel

extension Rejection {
    /// The rejection without what the wire format does not have: the ends of a code, a message, or a list of fields
    /// that are too long, and a position before the first mutation.
    ///
    /// `OutcomeCodec` does not read such a rejection, so an outcome with it would count as damage.
    package var shortened: Rejection {
        Rejection(
            code: RejectionCode(rawValue: code.rawValue.prefix(bytes: WireLimits.opaqueBytes)),
            message: message.prefix(bytes: WireLimits.messageBytes), mutation: mutation.flatMap { $0 < 0 ? nil : $0 },
            fields: Array(fields.prefix(WireLimits.columns)))
    }
}

extension String {
    /// Returns the longest prefix of whole Unicode scalars that has at most `limit` bytes.
    fileprivate func prefix(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(unicodeScalars[..<end])
    }
}
