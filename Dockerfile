# The image of miniapi has the program alone, which runs as a user without rights. hack/image.sh makes the context: the
# program, and the folder "empty" with the folders that the user may write.
FROM scratch
COPY miniapi /miniapi
COPY --chown=65532:65532 empty /
USER 65532:65532
WORKDIR /kube
EXPOSE 6443
HEALTHCHECK --interval=2s --start-period=30s CMD ["/miniapi", "wait", "--timeout=3s"]
ENTRYPOINT ["/miniapi"]
CMD ["serve", "--bind-address=0.0.0.0"]
