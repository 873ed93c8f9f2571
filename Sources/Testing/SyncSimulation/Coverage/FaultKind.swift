/// The kinds of faults in a world.
public enum FaultKind: String, Hashable, Sendable, CaseIterable {
    // Faults between a device and the server.
    case refused = "connection refused"
    case busy = "server busy"
    case requestLost = "request lost"
    case requestDamaged = "request damaged"
    case serverGone = "server gone"
    case responseBroken = "response broken"
    case responseLost = "response lost"
    case responseDamaged = "response damaged"
    case doubled = "request doubled"
    case late = "message late"
    case unauthorized = "unauthorized"
    case forbidden = "forbidden"
    case requestTimeout = "request timeout"
    case pushTooLarge = "push too large"
    case retryLater = "retry later"
    case serverError = "server error"
    case wrongShape = "response of another shape"
    case staleResponse = "stale response"
    case serverLies = "server lies"

    // Faults of a device.
    case deviceKilled = "device killed"
    case engineStopped = "engine stopped"
    case devicePowerLost = "device lost power"
    /// A power loss of a device that does not flush each commit. Counted in addition to `devicePowerLost`.
    case unflushedPowerLost = "lost power unflushed"
    case deviceSuspended = "device suspended"
    /// A suspension that stops the monotonic clock. Counted in addition to `deviceSuspended`.
    case clockPaused = "monotonic clock paused"
    case deviceSleptForDays = "device slept for days"
    case deviceCutOff = "device cut off"
    case linkDown = "link down"
    case clockJumped = "clock jumped"
    /// A jump to a time that is wrong by a week or more. Counted in addition to `clockJumped`.
    case clockWrongForWeeks = "clock wrong for weeks"
    case deviceRolledBack = "device rolled back"
    case clockDrifts = "clock drifts"
    case deviceCloned = "device cloned"
    case rivalEngine = "second engine"
    case deviceDiskFilled = "device's disk filled"
    case deviceDiskReadOnly = "device's disk read-only"
    case userChanged = "user changed"
    case deviceUpgraded = "device upgraded"

    // Faults of the server.
    case serverKilled = "server killed"
    case serverPowerLost = "server lost power"
    case serverCompacted = "server compacted"
    case conflictsTrimmed = "conflicts trimmed"
    case serverRestored = "server restored"
    /// A restore that the server is not told of. Counted in addition to `serverRestored`.
    case serverRestoredSilently = "server restored silently"
    case pushForged = "push forged"
    case serverEmptied = "server emptied"
    case serverDiskFilled = "server's disk filled"
    case serverDiskReadOnly = "server's disk read-only"
    case secondServer = "second server process"
    case serverSlow = "server slow"
    case serverClockJumped = "server's clock jumped"
    case accessChanged = "access changed"
    case serverUpgraded = "server upgraded"

    // Faults of a disk, in the middle of one of its operations.
    case diskError = "disk error"
    case diskFull = "disk full"
    case diskBusy = "disk busy"
    case diskKill = "killed over the disk"
    case diskPowerLost = "power lost over the disk"

    static let onTheWay: [FaultKind] = [
        .refused, .busy, .requestLost, .requestDamaged, .serverGone, .responseBroken, .responseLost, .responseDamaged,
        .doubled, .late, .unauthorized, .forbidden, .requestTimeout, .pushTooLarge, .retryLater, .serverError,
        .wrongShape, .staleResponse, .serverLies,
    ]
    static let toDevices: [FaultKind] = [
        .deviceKilled, .engineStopped, .devicePowerLost, .unflushedPowerLost, .deviceSuspended, .clockPaused,
        .deviceSleptForDays, .deviceCutOff, .linkDown, .clockJumped, .clockWrongForWeeks, .deviceRolledBack,
        .clockDrifts,
        .deviceCloned, .rivalEngine, .deviceDiskFilled, .deviceDiskReadOnly, .userChanged, .deviceUpgraded,
    ]
    static let toServers: [FaultKind] = [
        .serverKilled, .serverPowerLost, .serverCompacted, .conflictsTrimmed, .serverRestored,
        .serverRestoredSilently, .pushForged, .serverEmptied, .serverDiskFilled, .serverDiskReadOnly, .secondServer,
        .serverSlow, .serverClockJumped,
        .accessChanged, .serverUpgraded,
    ]
    static let toDisks: [FaultKind] = [.diskError, .diskFull, .diskBusy, .diskKill, .diskPowerLost]
}
