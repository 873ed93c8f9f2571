import Foundation
import Glibc

extension Testbed {
    /// Ends all faults, syncs until nothing is left to do, measures an idle period, ends all processes, and returns the
    /// evidence for the checker.
    ///
    /// This function does not throw if a device does not come to rest in time. The checker reports the violation.
    ///
    /// - Parameters:
    ///   - quiet: The length of the idle period. Zero skips it.
    ///   - cutsConnectionsFirst: Whether all connections are cut first, so that none stays silent. A device that only
    ///     listens notices a silent connection after 60 s, and a short run does not wait for that.
    func settle(
        _ ledger: Ledger, samples: [Sample] = [], quiet: Duration = .zero, cutsConnectionsFirst: Bool = true
    ) throws -> Evidence {
        for device in devices {
            device.proxy.setConditions(.fair)
            if cutsConnectionsFirst { device.proxy.cutAll() }
            device.setTimeouts(.processTimeout)
        }
        server.send(SIGCONT)
        for device in devices { device.signalWatch(SIGCONT) }
        if quiet > .zero {
            for device in devices { try device.startWatch() }
        } else {
            for device in devices + devices where !device.isWatching {
                // The checker reports the devices that do not come to rest, so the exit status is ignored.
                _ = try device.run(["sync", "--wait", "240s"])
            }
        }
        var restless = devices
        try? eventually("all devices at rest") {
            // A database cannot be read for a moment while a process opens or closes it. That must not end the wait.
            restless = devices.filter { (try? isAtRest($0)) != true }
            return restless.isEmpty
        }

        var evidence = Evidence(
            server: server.database, devices: devices.map { ($0.name, $0.database) }, writes: ledger.writes,
            samples: samples)
        for device in restless {
            evidence.complaints[device.name] =
                "\(device.isWatching ? "watching" : "not watching"), last line: \(device.lastWatchLine), errors: \(device.watchErrors), traffic: \(device.proxy.traffic)"
        }
        if quiet > .zero {
            // Waits until the devices have made the requests that directly follow their last change.
            var before = devices.map(\.proxy.traffic)
            try? eventually("silence") {
                usleep(150_000)
                let now = devices.map(\.proxy.traffic)
                defer { before = now }
                return now == before
            }
            usleep(UInt32(quiet.components.seconds * 1_000_000 + quiet.components.attoseconds / 1_000_000_000_000))
            for (device, earlier) in zip(devices, before) {
                let now = device.proxy.traffic
                evidence.quiet.append(
                    QuietTime(
                        device: device.name,
                        requests: server.isEncrypted
                            ? now.piecesUp - earlier.piecesUp : now.requests - earlier.requests,
                        allowed: server.isEncrypted ? 8 : 4))
            }
        }
        for device in devices where device.isWatching {
            let status = device.endWatch(SIGTERM)
            // Status 6 means that the journal got a new entry while the device watched.
            try require(status == 0 || status == 6, "\(device.name)'s watch ended with \(status ?? -1) after SIGTERM")
        }
        for device in devices {
            evidence.digests[device.name] = try device.expect(0, "digest", "--json").output
        }
        evidence.digests["the server"] = try devices[0].expect(0, "digest", "--json", "--remote").output
        stop()
        return evidence
    }

    private func isAtRest(_ device: Device) throws -> Bool {
        let head = try Database(server.database).rows("SELECT head FROM space WHERE name = 'default'").first?.integer(0)
        let row = try Database(device.database).rows(
            """
            SELECT (SELECT count(*) FROM sync_outbox),
                coalesce((SELECT version FROM sync_space WHERE name = 'default'), 0)
            """
        ).first
        return row?.integer(0) == 0 && row?.integer(1) == head ?? 0
    }

    /// Settles, and fails the test with the first 12 violations of invariants, if there are any.
    func requireNoFinding(
        _ ledger: Ledger, samples: [Sample] = [], quiet: Duration = .zero
    ) throws {
        let evidence = try settle(ledger, samples: samples, quiet: quiet)
        let findings = try Checker.findings(in: evidence)
        try require(findings.isEmpty, findings.prefix(12).map(\.description).joined(separator: "\n"))
    }
}
