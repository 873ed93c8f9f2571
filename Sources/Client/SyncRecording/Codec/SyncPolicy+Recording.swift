import SyncCore
import SyncJSON

extension JSONWriter {
    mutating func policy(_ policy: SyncPolicy) {
        member("poll_interval", policy.pollInterval)
        member("poll_interval_with_hints", policy.pollIntervalWithHints)
        member("request_deadline", policy.requestDeadline)
        member("longest_deadline", policy.longestDeadline)
        member("stop_deadline", policy.stopDeadline)
        member("batch") { $0.limit(policy.batch) }
        member("page_rows", policy.pageRows)
        member("smallest_page", policy.smallestPage)
        member("backoff") {
            $0.member("initial", policy.backoff.initial)
            $0.key("factor")
            $0.real(policy.backoff.factor)
            $0.member("cap", policy.backoff.cap)
            $0.member("floor", policy.backoff.floor)
            $0.member("longest_retry_after", policy.backoff.longestRetryAfter)
        }
        member("refusal_retry", policy.refusalRetry)
        member("free_resets", policy.freeResets)
        if let brake = policy.deleteBrake {
            member("delete_brake") {
                $0.member("records", brake.records)
                $0.member("percent", brake.percent)
            }
        }
        member("hints", policy.listensForHints)
    }
}

extension RecordingNode {
    func policy() throws(RecordingError) -> SyncPolicy {
        var policy = SyncPolicy()
        policy.pollInterval = try member("poll_interval").duration()
        policy.pollIntervalWithHints = try member("poll_interval_with_hints").duration()
        policy.requestDeadline = try member("request_deadline").duration()
        if let longest = optional("longest_deadline") { policy.longestDeadline = try longest.duration() }
        policy.stopDeadline = try member("stop_deadline").duration()
        policy.batch = try member("batch").limit()
        policy.pageRows = try member("page_rows").count()
        policy.smallestPage = try member("smallest_page").count()
        let backoff = try member("backoff")
        policy.backoff.initial = try backoff.member("initial").duration()
        policy.backoff.factor = try backoff.member("factor").real(1...100)
        policy.backoff.cap = try backoff.member("cap").duration()
        policy.backoff.floor = try backoff.member("floor").duration()
        policy.backoff.longestRetryAfter = try backoff.member("longest_retry_after").duration()
        policy.refusalRetry = try member("refusal_retry").duration()
        policy.freeResets = try member("free_resets").count()
        policy.deleteBrake = try optional("delete_brake").map { brake throws(RecordingError) in
            DeleteBrake(
                records: try brake.member("records").count(), percent: try brake.member("percent").count())
        }
        policy.listensForHints = try member("hints").boolean()
        return policy
    }
}
