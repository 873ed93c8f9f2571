public import SyncModel

extension Authority {
    /// Returns the next page of changes in a space: rows of a snapshot, or complete commits.
    ///
    /// If the principal may not read the space, the response does not reveal whether the space exists.
    public func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse {
        try principal.check(isMeantBy: request.account)
        guard request.limit >= 0 else {
            throw AuthorityError(.malformed, "a limit of \(request.limit) rows; expected 0 or more")
        }
        let reader = FeedReader(
            space: request.space, catalog: catalog, models: models, pages: pages, now: now,
            budget: PageBudget(
                rows: min(max(request.limit, 1), policy.limits.pageRows), bytes: policy.pageBytes),
            permittedSkew: policy.permittedSkew)
        let notices = request.notices.map {
            NoticeReader(request: $0, space: request.space, principal: principal, bytes: policy.pageBytes)
        }
        let response = try read { view -> FeedReader.Response in
            let state = try view.state()
            guard try members.rights(at: state, in: view).mayRead(request.space, principal) else {
                return try withholding(request, from: principal, state, in: view)
            }
            let response = try reader.read(
                from: request.cursor, receipt: request.receipt, for: principal, state, in: view)
            guard let notices, case .response(let response) = response else { return response }
            return .response(try notices.completing(response, in: view))
        }
        switch response {
        case .response(let response): return response
        case .lost(let lost):
            try renewHistory(because: lost, shownBy: [request.receipt, request.cursor].compactMap(\.self))
            return .mustReset(.epoch)
        }
    }

    /// Returns whether the holder of a cursor has all commits of its space. Unlike a pull, this changes nothing, even
    /// if the cursor proves that the history is lost.
    package func isAtHead(_ cursor: Cursor) throws(AuthorityError) -> Bool {
        try read { view in
            let check = HistoryCheck(history: try view.state().history, witness: .mark)
            guard case .held(let held) = try check.examine(cursor, in: view),
                case .commits(let version) = held.position
            else { return false }
            return version == (try view.extent(of: held.space).head)
        }
    }

    /// Returns the response to a principal that may not read the space.
    ///
    /// The response `noAccess` makes the client remove the space, so only the history that has served the space may
    /// give it. If the client proves that this history is lost, it is reported as lost instead.
    private func withholding(
        _ request: PullRequest, from principal: Principal, _ state: AuthorityState, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> FeedReader.Response {
        let check = HistoryCheck(history: state.history, witness: .client(principal))
        let shown = [request.receipt, request.cursor].compactMap(\.self)
        if let lost = try check.firstLoss(shownBy: shown, in: view) { return .lost(lost) }
        return .response(.noAccess(state.epoch))
    }
}
