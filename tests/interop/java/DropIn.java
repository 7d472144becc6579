import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.exceptions.RegistrationException;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What Aeron's Java client must find on a driver of ours that was started by Aeron's names:
 *
 * <pre>
 * java -cp aeron-all.jar DropIn.java DIRECTORY ENDPOINT
 * </pre>
 *
 * It prints a line for each check, and fails at the first that does not hold.
 */
public final class DropIn {
    private static final int STREAM = 1001;
    private static final long LONG_NS = 20_000_000_000L;

    private static void check(final boolean holds, final String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static Image image(final Subscription subscription, final int session) {
        final long end = System.nanoTime() + LONG_NS;
        Image image = subscription.imageBySessionId(session);
        while (image == null) {
            check(System.nanoTime() < end, "no image of session " + session);
            Thread.yield();
            image = subscription.imageBySessionId(session);
        }
        return image;
    }

    /** A publication that was closed with unread data is seen by a subscriber that comes later. */
    private static void lateReader(final Aeron aeron) {
        try (Subscription first = aeron.addSubscription("aeron:ipc", STREAM)) {
            final Publication publication = aeron.addPublication("aeron:ipc", STREAM);
            final UnsafeBuffer message = new UnsafeBuffer(new byte[128]);
            while (publication.offer(message) < 0) {
                Thread.yield();
            }
            final int session = publication.sessionId();
            publication.close();
            final long position = image(first, session).joinPosition();
            try (Subscription second = aeron.addSubscription("aeron:ipc", STREAM)) {
                check(image(second, session).joinPosition() == position, "another join position");
                int read = 0;
                final long end = System.nanoTime() + LONG_NS;
                while (read == 0) {
                    check(System.nanoTime() < end, "no data");
                    read = second.poll((buffer, offset, length, header) -> { }, 1);
                }
            }
        }
        System.out.println("ok late reader");
    }

    private static void refused(final Aeron aeron, final String channel, final String words) {
        try {
            aeron.addSubscription(channel, STREAM).close();
        } catch (final RegistrationException error) {
            check(error.getMessage().contains(words), error.getMessage());
            check(error.getMessage().contains(channel), error.getMessage());
            return;
        }
        check(false, channel + " was accepted");
    }

    /** A refusal names the channel and has Aeron's words. */
    private static void refusals(final Aeron aeron, final String endpoint) {
        final String channel = "aeron:udp?endpoint=" + endpoint;
        try (Subscription subscription = aeron.addSubscription(channel, STREAM)) {
            refused(aeron, "bad uri", "invalid URI scheme or transport");
            refused(aeron, channel + "|reliable=false",
                "option conflicts with existing subscription: reliable=false existingChannel="
                + channel + " channel=" + channel + "|reliable=false");
            refused(aeron, channel + "|rcv-wnd=1056|so-rcvbuf=1024", "so-rcvbuf=1024");
        }
        System.out.println("ok refusals");
    }

    /** A small window moves on while both sides work, not once a millisecond. */
    private static void smallWindow(final Aeron aeron) {
        final String channel = "aeron:ipc?term-length=64k|pub-wnd=4k";
        final int count = 20_000;
        try (Subscription subscription = aeron.addSubscription(channel, STREAM + 1);
            ExclusivePublication publication =
                aeron.addExclusivePublication(channel, STREAM + 1)) {
            final UnsafeBuffer message = new UnsafeBuffer(new byte[100]);
            final long end = System.nanoTime() + LONG_NS;
            int sent = 0;
            int received = 0;
            while (received < count) {
                check(System.nanoTime() < end, "only " + received + " messages");
                if (sent < count && publication.offer(message) > 0) {
                    sent++;
                } else {
                    received += subscription.poll((b, o, l, h) -> { }, 64);
                }
            }
        }
        System.out.println("ok small window");
    }

    public static void main(final String[] arguments) {
        final Aeron.Context context = new Aeron.Context().aeronDirectoryName(arguments[0]);
        try (Aeron aeron = Aeron.connect(context)) {
            lateReader(aeron);
            refusals(aeron, arguments[1]);
            smallWindow(aeron);
        }
    }
}
