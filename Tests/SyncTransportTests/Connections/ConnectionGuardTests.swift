import NIOCore
import NIOEmbedded
import TestRings
import Testing

@testable import SyncServerHTTP

/// Tests the guards of sockets with virtual time.
@Suite(.ring(.unit)) struct ConnectionGuardTests {
    @Test func `a connection is closed if its peer reads nothing`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.writeAndFlush(ByteBuffer(string: "taken"), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        socket.isStuck = true
        channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: TimeAmount(SyncServerLimits.writeTimeout) - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
    }

    @Test func `a peer that reads everything in time keeps its connection`() throws {
        let socket = StuckSocket()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers(socket, SlowReaderGuard())
        try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
        for _ in 0..<5 {
            socket.isStuck = true
            channel.writeAndFlush(ByteBuffer(repeating: 0, count: 100), promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            socket.isStuck = false
            channel.flush()
        }
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        _ = try channel.finish()
    }
}
