import SyncCore
import SyncJSON
import SyncModel

// The whole session is encoded as its phase and its machines, each with its counters.

extension JSONWriter {
    mutating func machine(_ session: SessionMachine) {
        switch session.phase {
        case .notStarted: member("phase", "not_started")
        case .running: member("phase", "running")
        case .stopping(let timer):
            member("phase", "stopping")
            self.timer(timer)
        case .finished: member("phase", "finished")
        }
        member("epoch", ifAny: session.epoch?.rawValue)
        member("account", ifAny: session.account?.rawValue)
        member("next_serial", session.nextSerial)
        member("link") { $0.machine(session.link) }
        member("outbox") { $0.machine(session.outbox) }
        member("pulls", session.pulls) { writer, pull in writer.object { $0.machine(pull) } }
        member("hints") { $0.machine(session.hints) }
    }

    private mutating func timer(_ timer: ArmedTimer, _ key: StaticString = "timer") {
        member(key) {
            $0.member("serial", timer.serial.rawValue)
            $0.member("due", timer.due)
        }
    }

    private mutating func spaces(_ spaces: [SpaceID]) {
        member("spaces", spaces) { $0.string($1.rawValue) }
    }

    private mutating func machine(_ link: LinkMachine) {
        switch link.state {
        case .down: member("is", "down")
        case .awaitingHello(let request, let deadline):
            member("is", "awaiting_hello")
            member("request", request.rawValue)
            timer(deadline)
        case .online(let hello):
            member("is", "online")
            member("hello") { $0.hello(hello) }
        case .waiting(let timer, let failure):
            member("is", "waiting")
            self.timer(timer)
            member("failure") { $0.failure(failure) }
        case .storeFailed(let timer, let failure):
            member("is", "store_failed")
            self.timer(timer)
            member("store", failure.code.rawValue)
        case .refused(let timer, let failure):
            member("is", "refused")
            self.timer(timer)
            member("failure") { $0.failure(failure) }
        }
        member("failures", link.backoff.failures)
        member("doubts", link.doubts)
        if link.lateResponses > 0 { member("late_responses", link.lateResponses) }
    }

    private mutating func machine(_ outbox: OutboxMachine) {
        switch outbox.state {
        case .resting: member("is", "resting")
        case .taking: member("is", "taking")
        case .inFlight(let request, let deadline, let push):
            member("is", "in_flight")
            member("request", request.rawValue)
            timer(deadline)
            member("incarnation", push.identity.incarnation)
            member("count", push.count)
            if let first = push.first { member("first", first.rawValue) }
            spaces(push.spaces)
            if push.isEmptied { member("withdrawal", true) }
        case .recording(let spaces):
            member("is", "recording")
            self.spaces(spaces)
        case .waiting(let timer, let obstacle):
            member("is", "waiting")
            self.timer(timer)
            switch obstacle {
            case .transport(let failure): member("failure") { $0.failure(failure) }
            case .store(let failure): member("store", failure.code.rawValue)
            case .identity: member("identity", true)
            }
        case .withdrawing: member("is", "withdrawing")
        case .renewing: member("is", "renewing")
        }
        member("summary") { $0.outbox(outbox.summary) }
        member("failures", outbox.backoff.failures)
        if let limit = outbox.shrunkLimit { member("shrunk_limit") { $0.limit(limit) } }
        member("identity_refusals", outbox.identityRefusals)
        if outbox.refusals > 0 { member("refusals", outbox.refusals) }
        if outbox.wrongConfirmations > 0 { member("wrong_confirmations", outbox.wrongConfirmations) }
        if outbox.setbacks > 0 { member("setbacks", outbox.setbacks) }
    }

    private mutating func machine(_ pull: PullMachine) {
        switch pull.state {
        case .resting(let poll):
            member("is", "resting")
            if let poll { timer(poll) }
        case .pulling(let request, let deadline, let cursor, let then):
            member("is", "pulling")
            member("request", request.rawValue)
            timer(deadline)
            member("cursor", ifAny: cursor?.rawValue)
            self.then(then)
        case .applying(let page, let then):
            member("is", "applying")
            member("page") { $0.page(page) }
            self.then(then)
        case .resetting(let then):
            member("is", "resetting")
            self.then(then)
        case .vacating(let then):
            member("is", "vacating")
            self.then(then)
        case .waiting(let timer, let obstacle):
            member("is", "waiting")
            self.timer(timer)
            switch obstacle {
            case .transport(let failure): member("failure") { $0.failure(failure) }
            case .store(let failure): member("store", failure.code.rawValue)
            case .reset(let reason): member("reset", reason.rawValue)
            case .historyInDoubt(let confirmed, let head):
                member("history", [confirmed, head]) { $0.integer($1.rawValue) }
            case .contradiction: member("contradiction", true)
            }
        case .braked(let page, let deletes, let total, let poll):
            member("is", "braked")
            if let page { member("page") { $0.page(page) } }
            if let poll { timer(poll) }
            member("deletes", deletes)
            member("of", total)
        }
        member("stored") { $0.stored(pull.stored) }
        member("head", pull.head.rawValue)
        member("caught_up", pull.hasCaughtUp)
        member("failures", pull.backoff.failures)
        member("resets", pull.resets)
        if pull.doubtsEpoch { member("doubts_epoch", true) }
        if pull.contradictions > 0 { member("contradictions", pull.contradictions) }
        if let trail = pull.trail {
            member("trail") {
                $0.member("cursor", trail.mark.rawValue)
                $0.member("steps", trail.steps)
                $0.member("reach", trail.reach)
            }
        }
        if pull.run.changes > 0 { member("run_changes", pull.run.changes) }
        if pull.run.sparsePages > 0 { member("sparse_pages", pull.run.sparsePages) }
        if let rows = pull.pace.shrunkPage { member("shrunk_page", rows) }
        if pull.pace.stretch > 0 { member("stretch", pull.pace.stretch) }
        if let version = pull.hinted.newest { member("hinted", version.rawValue) }
        if let version = pull.hinted.awaited { member("awaited", version.rawValue) }
        if pull.hinted.backoff.failures > 0 { member("missed_hints", pull.hinted.backoff.failures) }
        if let asked = pull.consent.asked { member("asked", asked) }
        if let consent = pull.consent.granted { member("consent", consent) }
    }

    private mutating func then(_ then: PullMachine.FollowUp) {
        switch then {
        case .rest: member("then", "rest")
        case .until(let version):
            member("then", "until")
            member("until", version.rawValue)
        case .again: member("then", "again")
        }
    }

    private mutating func machine(_ hints: HintsMachine) {
        switch hints.state {
        case .closed: member("is", "closed")
        case .opening(let stream):
            member("is", "opening")
            member("request", stream.rawValue)
        case .open(let stream):
            member("is", "open")
            member("request", stream.rawValue)
        case .waiting(let timer):
            member("is", "waiting")
            self.timer(timer)
        }
        member("failures", hints.backoff.failures)
        if let since = hints.openSince { member("open_since", since) }
        if hints.endsSinceHint > 0 { member("ends_since_hint", hints.endsSinceHint) }
    }
}

extension RecordingNode {
    func machine() throws(RecordingError) -> SessionMachine {
        let phase: SessionMachine.Phase
        switch try member("phase").text() {
        case "not_started": phase = .notStarted
        case "running": phase = .running
        case "stopping": phase = .stopping(try timer())
        case "finished": phase = .finished
        default: throw try member("phase").wrong("not_started, running, stopping or finished")
        }
        return SessionMachine(
            phase: phase, link: try member("link").linkMachine(), outbox: try member("outbox").outboxMachine(),
            pulls: try member("pulls").list(of: Self.pullMachine),
            hints: try member("hints").hintsMachine(), epoch: try optionalEpoch(), account: try optionalAccount(),
            nextSerial: try member("next_serial").count())
    }

    private func timer() throws(RecordingError) -> ArmedTimer {
        let timer = try member("timer")
        return ArmedTimer(serial: try timer.member("serial").serial(), due: try timer.member("due").duration())
    }

    private func spaces() throws(RecordingError) -> [SpaceID] {
        try member("spaces").list(of: Self.space)
    }

    func isEmptied() throws(RecordingError) -> Bool {
        try optional("withdrawal")?.boolean() ?? false
    }

    private func request() throws(RecordingError) -> Serial { try member("request").serial() }

    private func backoff() throws(RecordingError) -> Backoff {
        Backoff(failures: Int(try member("failures").integer(0...64)))
    }

    private func unknownState() throws(RecordingError) -> RecordingError {
        try member("is").wrong("the name of a state")
    }

    private func linkMachine() throws(RecordingError) -> LinkMachine {
        let state: LinkMachine.State
        switch try member("is").text() {
        case "down": state = .down("")
        case "awaiting_hello": state = .awaitingHello(request: try request(), deadline: try timer())
        case "online": state = .online(try member("hello").hello())
        case "waiting": state = .waiting(try timer(), try member("failure").failure())
        case "store_failed": state = .storeFailed(try timer(), StoreError(try member("store").choice(), ""))
        case "refused": state = .refused(try timer(), try member("failure").failure())
        default: throw try unknownState()
        }
        return LinkMachine(
            state: state, backoff: try backoff(), doubts: try member("doubts").count(),
            lateResponses: try optional("late_responses")?.count() ?? 0)
    }

    private func outboxMachine() throws(RecordingError) -> OutboxMachine {
        let state: OutboxMachine.State
        switch try member("is").text() {
        case "resting": state = .resting
        case "taking": state = .taking
        case "in_flight":
            let first = try optional("first")?.number()
            let push = OutboxMachine.PushInFlight(
                identity: try identity(), count: try member("count").count(), first: first, spaces: try spaces(),
                isEmptied: try isEmptied())
            state = .inFlight(request: try request(), deadline: try timer(), push: push)
        case "recording": state = .recording(spaces: try spaces())
        case "waiting":
            if let failure = optional("failure") {
                state = .waiting(try timer(), .transport(try failure.failure()))
            } else if let store = optional("store") {
                state = .waiting(try timer(), .store(StoreError(try store.choice(), "")))
            } else {
                _ = try member("identity")
                state = .waiting(try timer(), .identity(""))
            }
        case "withdrawing": state = .withdrawing
        case "renewing": state = .renewing
        default: throw try unknownState()
        }
        return OutboxMachine(
            state: state, summary: try member("summary").outbox(), backoff: try backoff(),
            shrunkLimit: try optional("shrunk_limit")?.limit(),
            identityRefusals: try member("identity_refusals").count(),
            refusals: try optional("refusals")?.count() ?? 0,
            wrongConfirmations: try optional("wrong_confirmations")?.count() ?? 0,
            setbacks: try optional("setbacks")?.count() ?? 0)
    }

    private func pullMachine() throws(RecordingError) -> PullMachine {
        let state: PullMachine.State
        switch try member("is").text() {
        case "resting":
            state = .resting(poll: optional("timer") == nil ? nil : try timer())
        case "pulling":
            state = .pulling(
                request: try request(), deadline: try timer(),
                cursor: try optional("cursor")?.cursor(),
                then: try then())
        case "applying": state = .applying(try member("page").page(), then: try then())
        case "resetting": state = .resetting(then: try then())
        case "vacating": state = .vacating(then: try then())
        case "waiting":
            if let failure = optional("failure") {
                state = .waiting(try timer(), .transport(try failure.failure()))
            } else if let store = optional("store") {
                state = .waiting(try timer(), .store(StoreError(try store.choice(), "")))
            } else if let history = optional("history") {
                let versions = try history.list(of: Self.version, upTo: 2)
                guard versions.count == 2 else { throw history.wrong("the confirmed version and the head") }
                state = .waiting(try timer(), .historyInDoubt(confirmed: versions[0], head: versions[1]))
            } else if optional("contradiction") != nil {
                state = .waiting(try timer(), .contradiction(""))
            } else {
                state = .waiting(try timer(), .reset(try member("reset").resetReason()))
            }
        case "braked":
            state = .braked(
                try optional("page")?.page(),
                deletes: try member("deletes").count(), of: try member("of").count(),
                poll: optional("timer") == nil ? nil : try timer())
        default: throw try unknownState()
        }
        return PullMachine(
            state: state, stored: try member("stored").stored(), head: try member("head").version(),
            hasCaughtUp: try member("caught_up").boolean(), backoff: try backoff(),
            resets: try member("resets").count(),
            doubtsEpoch: try optional("doubts_epoch")?.boolean() ?? false,
            contradictions: try optional("contradictions")?.count()
                ?? 0,
            trail: try optional("trail").map { node throws(RecordingError) in
                CursorTrail(
                    mark: try node.member("cursor").cursor(), steps: try node.member("steps").count(),
                    reach: try node.member("reach").count())
            },
            run: PullRun(
                changes: try optional("run_changes")?.count() ?? 0,
                sparsePages: try optional("sparse_pages")?.count() ?? 0),
            pace: PullPace(
                shrunkPage: try optional("shrunk_page")?.count(),
                stretch: Int(
                    try optional("stretch").map { node throws(RecordingError) in try node.integer(0...10) } ?? 0)),
            consent: DeleteConsent(
                asked: try optional("asked")?.count(),
                granted: try optional("consent")?.count()),
            hinted: HintedVersions(
                newest: try optional("hinted")?.version(), awaited: try optional("awaited")?.version(),
                backoff: Backoff(
                    failures: Int(
                        try optional("missed_hints").map { node throws(RecordingError) in try node.integer(0...64) }
                            ?? 0))))
    }

    private func then() throws(RecordingError) -> PullMachine.FollowUp {
        switch try member("then").text() {
        case "rest": return .rest
        case "until": return .until(try member("until").version())
        case "again": return .again
        default: throw try member("then").wrong("rest, until or again")
        }
    }

    private func hintsMachine() throws(RecordingError) -> HintsMachine {
        let state: HintsMachine.State
        switch try member("is").text() {
        case "closed": state = .closed
        case "opening": state = .opening(try request())
        case "open": state = .open(try request())
        case "waiting": state = .waiting(try timer())
        default: throw try unknownState()
        }
        return HintsMachine(
            state: state, backoff: try backoff(), openSince: try optional("open_since")?.duration(),
            endsSinceHint: try optional("ends_since_hint")?.count() ?? 0)
    }
}
