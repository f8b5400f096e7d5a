package dev.miniapi.junit5;

/** Something that the miniapi program has refused, with its message, or a program that can't be started. */
public final class MiniapiException extends RuntimeException {
    private static final long serialVersionUID = 1;

    MiniapiException(String message, Throwable cause) {
        super(message, cause);
    }
}
