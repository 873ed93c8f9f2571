public import SyncModel

extension Authority {
    /// Gives what is new in a space: pages of a snapshot, or whole commits; or says that the principal may not read it, which
    /// does not tell whether there is one of this name.
    public func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityFailure) -> PullReply {
        try principal.check(isMeantBy: request.account)
        guard mayRead(request.space, principal) else {
            return .noAccess(try read { (view) throws(AuthorityStoreFailure) in try view.state() }.epoch)
        }
        guard request.limit >= 0 else {
            throw AuthorityFailure(.malformed, "a limit of \(request.limit) rows, 0 or more expected")
        }
        var cursor: FeedCursor?
        if let text = request.cursor {
            cursor = FeedCursor(text)
            guard let cursor, cursor.space == request.space else {
                throw AuthorityFailure(.malformed, "the cursor was not made by this server for \(request.space)")
            }
        }
        let reader = FeedReader(
            space: request.space, catalog: catalog, now: now,
            budget: PageBudget(
                rows: min(max(request.limit, 1), policy.limits.pageRows), bytes: policy.pageBytes))
        let answer = try read { (view) throws(AuthorityStoreFailure) in try reader.read(from: cursor, in: view) }
        switch answer {
        case .reply(let reply): return reply
        case .future(let version, let head):
            throw AuthorityFailure(
                .malformed,
                "the cursor stands at version \(version) of \(request.space), which has only got to \(head); a server that was restored needs a new epoch"
            )
        }
    }
}
