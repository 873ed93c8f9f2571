import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TomboloCommunity
import TomboloModeling

/// A server that keeps its records in memory. It can apply a push and lose the response.
final class InMemoryServer: RemoteTransport {
    private struct State: Sendable {
        var space = RemoteSpace(CommunityCatalog.catalog)
        var outcomes: [ClientIdentity: [TransactionNumber: (hash: PayloadHash, outcome: Outcome)]] = [:]
        var pushes: [PushRequest] = []
        var losesNextAnswer = false
        var nextRejection: Rejection?
        var nextRefusal: PushRefusal?
        /// The reason why the server refuses the contents of every push that is not empty.
        var refusalOfContents: TransportError?
        var isDown = false
        var pulls = 0
        var pullsEnd = true
    }

    private let state = Guarded(State())
    /// Runs after a pull has read its data and before it responds.
    private let delay = Guarded<(@Sendable () async -> Void)?>(nil)
    private let pushDelay = Guarded<(@Sendable () async -> Void)?>(nil)
    private let fetchDelay = Guarded<(@Sendable () async -> Void)?>(nil)
    private let epoch = Epoch(rawValue: "tiny")

    var pushes: [PushRequest] { state.withLock { $0.pushes } }
    /// The number of requests for a page.
    var pulls: Int { state.withLock { $0.pulls } }
    var recordCount: Int { state.withLock { $0.space.count } }

    func loseNextResponse() { state.withLock { $0.losesNextAnswer = true } }
    func rejectNext(_ rejection: Rejection) { state.withLock { $0.nextRejection = rejection } }
    func refuseNext(_ refusal: PushRefusal) { state.withLock { $0.nextRefusal = refusal } }
    func refuseContents(because error: TransportError?) { state.withLock { $0.refusalOfContents = error } }
    func delayPulls(by body: @escaping @Sendable () async -> Void) { delay.withLock { $0 = body } }
    func delayPushes(by body: (@Sendable () async -> Void)?) { pushDelay.withLock { $0 = body } }
    func delayFetches(by body: (@Sendable () async -> Void)?) { fetchDelay.withLock { $0 = body } }
    /// Makes every page announce another one.
    func neverEndPulls() { state.withLock { $0.pullsEnd = false } }
    func comeBack() { state.withLock { $0.isDown = false } }
    var version: Version { state.withLock { $0.space.version } }
    func goDown() { state.withLock { $0.isDown = true } }

    /// Adds a record of another client.
    func put(_ collection: CollectionName, _ record: Record) {
        state.withLock { $0.space.put(collection, record) }
    }

    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        switch request {
        case .hello: throw TransportError(.unreachable, "there is no hello")
        case .push(let request):
            .push(await delayed(pushDelay, try response(to: request)))
        case .pull(let request): .pull(await response(to: request))
        case .fetch(let request):
            .fetch(await delayed(fetchDelay, try record(for: request)))
        }
    }

    private func delayed<Response>(_ delay: Guarded<(@Sendable () async -> Void)?>, _ response: Response) async
        -> Response
    {
        if let body = delay.withLock({ $0 }) { await body() }
        return response
    }

    private func response(to request: PushRequest) throws(TransportError) -> PushResponse {
        try state.withLock { (state) throws(TransportError) in
            if state.isDown { throw TransportError(.unreachable, "the server is down") }
            state.pushes.append(request)
            if let refusal = state.nextRefusal {
                state.nextRefusal = nil
                return .refused(refusal)
            }
            if let error = state.refusalOfContents,
                !request.transactions.allSatisfy({ $0.transaction.mutations.isEmpty })
            {
                throw error
            }
            var results: [TransactionResult] = []
            for transaction in request.transactions {
                let known = state.outcomes[request.identity]?[transaction.number]
                if let known, known.hash != transaction.hash {
                    return .refused(.identityConflict(number: transaction.number))
                }
                var former: (hash: PayloadHash, outcome: Outcome)?
                for number in transaction.formerNumbers {
                    let found = state.outcomes[number.identity]?[number.number]
                    if found?.hash == number.hash { former = found }
                }
                let outcome = (known ?? former)?.outcome ?? apply(transaction.transaction, to: &state)
                state.outcomes[request.identity, default: [:]][transaction.number] = (transaction.hash, outcome)
                results.append(TransactionResult(number: transaction.number, outcome: outcome))
            }
            if state.losesNextAnswer {
                state.losesNextAnswer = false
                throw TransportError(.timedOut, "no response in time")
            }
            return .answered(results, epoch: epoch, serverTime: .zero)
        }
    }

    private func apply(_ transaction: Transaction, to state: inout State) -> Outcome {
        if let rejection = state.nextRejection {
            state.nextRejection = nil
            return .rejected(rejection)
        }
        if let rejection = CommunityCatalog.catalog.rejection(of: transaction) { return .rejected(rejection) }
        var edits: [RecordEdit] = []
        for mutation in transaction.mutations {
            switch mutation.intent {
            case .create(let patch):
                guard state.space.record(mutation.collection, .id(mutation.record)) == nil else {
                    return .rejected(Rejection(code: .duplicateRecord, message: "it exists", mutation: nil))
                }
                edits.append(.create(mutation.collection, mutation.record, patch))
            case .update: edits.append(.update(mutation.collection, mutation.record, mutation.patch))
            case .delete: edits.append(.delete(mutation.collection, mutation.record))
            }
        }
        let uids = state.space.commit(edits)
        return .applied(version: state.space.version, uids: uids, conflicts: [])
    }

    private func response(to request: PullRequest) async -> PullResponse {
        let response: PullResponse = state.withLock { state in
            state.pulls += 1
            let rows = state.space.collections.map { collection in
                SnapshotRows(collection: collection, records: Array(state.space[collection].values))
            }
            return .page(
                PullPage(
                    space: request.space, epoch: epoch, serverTime: .zero,
                    content: .snapshot(rows, isFirst: true, isLast: state.pullsEnd), cursor: Cursor(rawValue: "end"),
                    version: state.space.version, head: state.space.version, hasMore: !state.pullsEnd))
        }
        if let body = delay.withLock({ $0 }) { await body() }
        return response
    }

    private func record(for request: FetchRequest) throws(TransportError) -> Record? {
        try state.withLock { (state) throws(TransportError) in
            if state.isDown { throw TransportError(.unreachable, "the server is down") }
            return state.space.record(request.collection, request.key)
        }
    }

    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        AsyncThrowingStream { $0.finish() }
    }
}
