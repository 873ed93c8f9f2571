import SyncAuthority
import SyncCore
import SyncSimulation
import TestRings
import Testing

@Suite(.ring(.unit)) struct ScriptTextTests {
    @Test(arguments: 0..<50 as Range<UInt64>)
    func `a script is unchanged after it is written and read`(seed: UInt64) throws {
        var script = WorldPlan.drawn(seed: seed, steps: 40).script
        script.planned = [
            .init(.server, DiskFault(.all, of: .wal, skip: 3, times: nil, effect: .fail(.cannotOpen))),
            .init(.device(0), DiskFault(.sync, effect: .losePower), seed: 8),
        ]
        #expect(try WorldScript(text: script.text) == script)
    }

    @Test func `comments and empty lines are ignored, and the last wait may be omitted`() throws {
        let script = try WorldScript(
            text: """
                tombolo-world 1
                seed 7   # the seven

                devices 2
                device1 acts 12
                """)
        #expect(script.setting.seed == 7)
        #expect(script.moments == [.init([.operation(device: 1, seed: 12)], pause: .zero)])
    }

    @Test func `a script contains the delete brake, unflushed devices, paused clocks, and spaces`() throws {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 3))
        script.setting.policy.deleteBrake = nil
        script.setting.unflushed = [0, 2]
        script.setting.readers = [1, 2]
        script.setting.pausing = [1]
        script.setting.spaceCount = 2
        #expect(script.text.contains("\nunflushed 0 2\nreaders 1 2\npausing 1\nspaces 2\n"))
        #expect(try WorldScript(text: script.text) == script)
    }

    @Test func `a script contains the limits of the server and of accounts, and what users do with their journals`()
        throws
    {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 1))
        script.setting.accounts = AccountLimits(bytes: 4_000, clients: 2)
        script.setting.limits = TightLimits(
            pushBytes: 2_000, pushTransactions: 3, pageRows: 4, pageBytes: 500, transactionsPerWrite: 2,
            bodyBytes: 5_000, textBytes: 60)
        script.setting.hasCorrections = true
        script.setting.restoresAny = true
        script.moments = [.init([.server(.quotaChanged(bytes: 20_000))], pause: .zero)]
        #expect(
            script.text.contains("\nquota 4000 2\ncorrections on\nrestores any\nlimits 2000 3 4 500 2 5000 60\n"))
        #expect(script.text.contains("\nserver quotaChanged 20000\n"))
        #expect(try WorldScript(text: script.text) == script)
    }

    @Test func `a script contains builds and upgrades`() throws {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 3))
        script.setting.earlierDevices = [0, 2]
        script.setting.isServerEarlier = true
        script.moments = [.init([.device(2, .upgraded), .server(.upgraded)], pause: .zero)]
        #expect(script.text.contains("\nearlierDevices 0 2\nserver.build earlier\n"))
        #expect(script.text.contains("\ndevice2 upgraded\nserver upgraded\n"))
        #expect(try WorldScript(text: script.text) == script)
    }

    @Test func `a script contains forged pushes and silent restores`() throws {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 1))
        let happenings: [WorldEvent] = [.server(.backedUp), .server(.restoredSilently), .server(.forged(seed: 9))]
        script.moments = [.init(happenings, pause: .zero)]
        #expect(script.text.contains("\nserver restoredSilently\nserver forged 9\n"))
        #expect(try WorldScript(text: script.text) == script)
    }

    @Test(arguments: [
        ("", 1, "expected \"tombolo-world 1\""),
        ("tombolo-world 2", 1, "expected \"tombolo-world 1\""),
        ("tombolo-world 1\nseed -1", 2, "a whole number from 0 to 18446744073709551615"),
        ("tombolo-world 1\ndevices 0", 2, "from 1 to 64"),
        ("tombolo-world 1\ndevices 2 3", 2, "the end of the line"),
        ("tombolo-world 1\nunflushed", 2, "the line ends too early"),
        ("tombolo-world 1\nunflushed 0 64", 2, "from 0 to 63"),
        ("tombolo-world 1\nspaces 4", 2, "from 1 to 3"),
        ("tombolo-world 1\nbrake 5", 2, "the line ends too early"),
        ("tombolo-world 1\nspeed 9", 2, "\"speed\" is not a setting"),
        ("tombolo-world 1\nnetwork.delay 5 4", 2, "from 5 to"),
        ("tombolo-world 1\nnetwork.busy 1.5", 2, "a number from 0 to 1"),
        ("tombolo-world 1\n\ndevice1 explodes", 3, "an event of a device"),
        ("tombolo-world 1\nserver explodes", 2, "an event of the server"),
        ("tombolo-world 1\ndeviceX killed", 2, "a device such as \"device0\""),
        ("tombolo-world 1\ndevice0 cutOff sideways", 2, "one of toDevice, toServer"),
        ("tombolo-world 1\ndevice0 disk write+sleep wal skip 0 times 1 rate 1 kill", 2, "joined by \"+\""),
        ("tombolo-world 1\ndevice0 disk write wal skip 0 times 1 rate 1 maim", 2, "one of busy, cannotOpen"),
        ("tombolo-world 1\nwait", 2, "the line ends too early"),
    ])
    func `an invalid line is reported with its number and the expected text`(
        text: String, line: Int, expected: String
    ) throws {
        let error = try #require(throws: WorldScript.Unreadable.self) { try WorldScript(text: text) }
        #expect(error.line == line)
        #expect(error.message.contains(expected), "\(error.message)")
    }
}
