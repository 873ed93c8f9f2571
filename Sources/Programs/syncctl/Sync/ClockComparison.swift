import SyncModel

/// The difference between the clocks of this device and the server.
struct ClockComparison: Hashable {
    /// The milliseconds by which the device is ahead; negative if it is behind.
    let lead: Int64

    init(lead: Int64) {
        self.lead = lead
    }

    init(device: WallTime, server: WallTime) {
        lead = device.milliseconds - server.milliseconds
    }

    /// Whether the server accepts the times of the device's edits unchanged.
    var isWithinSkew: Bool { magnitude <= SchemaLimits.permittedSkew }

    var words: String {
        guard !isWithinSkew else { return "this device and the server agree on the time" }
        let side = lead > 0 ? "ahead of" : "behind"
        return "the clock of this device is \(magnitude.shortText) \(side) that of the server"
    }

    private var magnitude: Duration { .milliseconds(lead.magnitude) }
}
