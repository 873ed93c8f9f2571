import SyncModel

/// How far the clock of this device is ahead of that of the server.
struct ClockComparison: Hashable {
    /// In milliseconds; negative where the device is behind.
    let lead: Int64

    init(lead: Int64) {
        self.lead = lead
    }

    init(device: WallTime, server: HybridTime) {
        lead = device.milliseconds - server.wall.milliseconds
    }

    /// Whether the times that the device gives its edits are taken as they are.
    var isWithinSkew: Bool { magnitude <= SchemaLimits.permittedSkew }

    var words: String {
        guard !isWithinSkew else { return "this device and the server agree on the time" }
        let side = lead > 0 ? "ahead of" : "behind"
        return "the clock of this device is \(magnitude.shortText) \(side) that of the server"
    }

    private var magnitude: Duration { .milliseconds(lead.magnitude) }
}
