package sqlguard

import (
	"context"
	"database/sql/driver"
	"io"
)

// Connector returns a connector whose connections are guarded, for sql.OpenDB.
func Connector(c driver.Connector, config Config) (driver.Connector, error) {
	j, err := config.checked("a connector")
	if err != nil {
		return nil, err
	}
	return &connector{Connector: c, judge: j}, nil
}

// Driver returns a driver whose connections are guarded, for sql.Register.
func Driver(d driver.Driver, config Config) (driver.Driver, error) {
	j, err := config.checked("a driver")
	if err != nil {
		return nil, err
	}
	if dc, ok := d.(driver.DriverContext); ok {
		return contextDriver{guardedDriver{d, j}, dc}, nil
	}
	return guardedDriver{d, j}, nil
}

type guardedDriver struct {
	driver.Driver
	judge *judge
}

func (d guardedDriver) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, judge: d.judge}, nil
}

// contextDriver wraps a driver that creates connectors.
type contextDriver struct {
	guardedDriver
	inner driver.DriverContext
}

func (d contextDriver) OpenConnector(name string) (driver.Connector, error) {
	c, err := d.inner.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return &connector{Connector: c, judge: d.judge}, nil
}

type connector struct {
	driver.Connector
	judge *judge
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: inner, judge: c.judge}, nil
}

// Driver returns the guarded driver.
func (c *connector) Driver() driver.Driver {
	return guardedDriver{c.Connector.Driver(), c.judge}
}

// Close closes the inner connector if it has a Close method.
func (c *connector) Close() error {
	if closer, ok := c.Connector.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
