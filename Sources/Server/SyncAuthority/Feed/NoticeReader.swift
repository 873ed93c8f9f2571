import SyncModel

/// Reads the notices about a device's values that lost a conflict.
struct NoticeReader {
    let request: NoticeRequest
    let space: SpaceID
    let principal: Principal
    /// The maximum total size of the values in the notices of a page, in bytes. A page may contain one larger notice.
    let bytes: Int

    /// Adds notices to a response that is a page. Ignores client ids that belong to other principals.
    func completing(_ response: PullResponse, in view: some AuthorityView) throws(AuthorityStoreError) -> PullResponse {
        guard case .page(let page) = response else { return response }
        var own: [ClientID] = []
        for client in request.clients.prefix(SchemaLimits.formerClients + 1) where !own.contains(client) {
            if try view.owner(of: client)?.principal == principal { own.append(client) }
        }
        guard !own.isEmpty else { return response }
        let removed = try view.newestRemovedNotice(for: own, in: space)
        let found = try view.notices(
            for: own, in: space, after: try start(behind: removed, in: view), limit: AuthorityLimits.pageNotices + 1)
        var notices: [ConflictNotice] = []
        var size = 0
        for recorded in found.prefix(AuthorityLimits.pageNotices) {
            size += recorded.conflict.byteCount
            guard notices.isEmpty || size <= bytes else { break }
            notices.append(
                ConflictNotice(
                    number: recorded.number, version: recorded.version, conflict: recorded.conflict,
                    fingerprint: recorded.fingerprint
                ))
        }
        let missing = removed > request.after ? removed : nil
        guard !notices.isEmpty || missing != nil else { return response }
        return .page(page.adding(notices, hasMore: notices.count < found.count, removedUpTo: missing))
    }

    /// Returns the number after which the notices begin: 0 if this store does not have the device's last notice.
    ///
    /// The store was then restored from a copy without it, and gives its number and those before it to other conflicts.
    /// The notice may also have been deleted because of its age; those before it are then gone, too. A device that was
    /// told of removed notices gives their last number without a fingerprint. A greater number is false.
    ///
    /// - Parameter removed: the number of the newest removed notice for the device.
    private func start(
        behind removed: Int64, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Int64 {
        guard request.after > 0, request.fingerprint != nil || request.after > removed else { return request.after }
        guard let last = try view.conflicts(in: space, after: request.after - 1, limit: 1).first,
            last.number == request.after, request.fingerprint == nil || last.fingerprint == request.fingerprint
        else { return 0 }
        return request.after
    }
}

extension RecordedConflict {
    /// A hash of what tells this conflict from others with its number.
    var fingerprint: NoticeFingerprint {
        var digest = CanonicalDigest()
        digest.add(version.rawValue)
        digest.add(author)
        digest.add(conflict.record.bits)
        digest.add(conflict.field.rawValue)
        for stamp in [conflict.winner.stamp, conflict.loser.stamp] {
            digest.add(stamp.time.rawValue)
            digest.add(stamp.client.bits)
        }
        return NoticeFingerprint(bits: digest.first128Bits)
    }
}

extension PullPage {
    fileprivate func adding(
        _ notices: [ConflictNotice], hasMore hasMoreNotices: Bool, removedUpTo number: Int64?
    ) -> PullPage {
        PullPage(
            space: space, epoch: epoch, serverTime: serverTime, content: content, cursor: cursor, version: version,
            head: head, hasMore: hasMore, notices: notices, hasMoreNotices: hasMoreNotices,
            noticesRemovedUpTo: number, sharedForm: sharedForm)
    }
}
